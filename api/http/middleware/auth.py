"""Authentication: checks the key of every request before anything else of the request is read.

Only the paths in ``OPEN``, which reveal no data, are open to anonymous clients.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.auth.keys import KEY_PREFIX
from api.auth.permissions import LOCAL_CALLER, Caller
from api.errors import HomeError, Refused, Unauthorized
from api.http.errors import problem_response
from api.problems import problem_of

OPEN = ("/", "/docs", "/healthz", "/readyz", "/openapi.json")
OPEN_FOLDERS = ("/viewer/", "/docs/assets/")
_PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "via")


class AuthMiddleware:
    """ASGI middleware that stores the caller in the request's state, or rejects the request.

    ``admit`` returns the caller of a key. It raises Unauthorized or LimitReached. If no key is needed, a request
    without one comes from the local user.
    """

    def __init__(self, app: ASGIApp, admit: Callable[[str], Caller], needs_key: bool) -> None:
        self._app, self._admit, self._needs_key = app, admit, needs_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            try:
                caller = await self._caller(Headers(scope=scope))
            except (Refused, HomeError, SQLAlchemyError) as error:
                if not is_open(scope["path"]):
                    headers = error.headers if isinstance(error, Refused) else None
                    await problem_response(problem_of(error), headers)(scope, receive, send)
                    return
                caller = None
            scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)

    async def _caller(self, headers: Headers) -> Caller:
        key = _sent_key(headers)
        # A request through a proxy may come from another machine, even if its connection is local.
        local = not self._needs_key and not any(name in headers for name in _PROXY_HEADERS)
        # Clients of other services must send some key. One that is not Candor's counts as none.
        if local and not key.startswith(KEY_PREFIX):
            return LOCAL_CALLER
        if not key:
            raise Unauthorized
        return await run_in_threadpool(self._admit, key)


def is_open(path: str) -> bool:
    """Return whether anonymous clients may request the path."""
    return path in OPEN or path.startswith(OPEN_FOLDERS)


def _sent_key(headers: Headers) -> str:
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    return headers.get("x-api-key", "")

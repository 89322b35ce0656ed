"""Authentication of every request by its key, before the rest of the request is read.

Anonymous clients may request only the paths in ``OPEN``, which reveal no data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.auth.permissions import LOCAL_CALLER, Caller
from api.errors import HomeError, Refused, Unauthorized
from api.http.errors import problem_response
from api.http.middleware.stream_guard import StreamGuard
from api.problems import problem_of

OPEN = ("/", "/docs", "/healthz", "/readyz", "/openapi.json")
OPEN_FOLDERS = ("/viewer/", "/docs/assets/")
_LOCAL_KEY = "local"  # clients of OpenAI always send a key
_PROXY_HEADERS = ("forwarded", "via", "x-real-ip")
_PROXY_PREFIX = "x-forwarded"


class AuthMiddleware:
    """ASGI middleware that stores the caller in the request's state, or rejects the request.

    ``admit`` returns the caller of a key. It raises Unauthorized or LimitReached. If no key is needed, the caller of a
    request without one is the local user. ``is_valid`` returns whether the key with an id is still valid. Streams end
    when it returns false.
    """

    def __init__(
        self, app: ASGIApp, admit: Callable[[str], Caller], is_valid: Callable[[str], bool], needs_key: bool
    ) -> None:
        self._app, self._admit, self._is_valid, self._needs_key = app, admit, is_valid, needs_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            try:
                caller = await self._caller(scope)
            except (Refused, HomeError, SQLAlchemyError) as error:
                if not is_open(scope["path"]):
                    headers = error.headers if isinstance(error, Refused) else None
                    await problem_response(problem_of(error), headers)(scope, receive, send)
                    return
                caller = None
            scope.setdefault("state", {})["caller"] = caller
            if caller and caller.key:
                await self._respond(caller.key, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _respond(self, key: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application. End its stream when the key is no longer valid."""
        guard = StreamGuard(send, partial(self._is_valid, key))
        try:
            await self._app(scope, receive, guard.send)
        except Exception:  # the application may wrap the guard's exception
            if not guard.ended:
                raise

    async def _caller(self, scope: Scope) -> Caller:
        key = _sent_key(Headers(scope=scope))
        local = not self._needs_key and not _is_proxied(scope)
        if local and key in ("", _LOCAL_KEY):
            return LOCAL_CALLER
        if not key:
            raise Unauthorized
        return await run_in_threadpool(self._admit, key)


def is_open(path: str) -> bool:
    """Return whether anonymous clients may request the path."""
    return path in OPEN or path.startswith(OPEN_FOLDERS)


def _is_proxied(scope: Scope) -> bool:
    """Return whether the request shows signs of a proxy and may come from another machine.

    By default, nginx uses HTTP/1.0 and adds no header. Other proxies may show no signs at all, so behind a proxy, set
    ``service.require_key``.
    """
    if scope["http_version"] == "1.0":
        return True
    return any(name in _PROXY_HEADERS or name.startswith(_PROXY_PREFIX) for name in Headers(scope=scope))


def _sent_key(headers: Headers) -> str:
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    return headers.get("x-api-key", "")

"""Who is let in: the key of every request is looked at before anything else of it is read.

Only what tells nothing about anybody's data is open to strangers; all else needs a caller, whatever its route says.
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
from api.http.errors import problem_of, problem_response

OPEN = ("/", "/healthz", "/readyz", "/openapi.json")
OPEN_FOLDER = "/viewer/"
_PASSED_ON = ("forwarded", "x-forwarded-for", "x-forwarded-host", "via")


class AuthMiddleware:
    """ASGI middleware: puts the caller into the request's state, or refuses the request.

    ``admit`` knows the caller by the key, or raises Unauthorized or LimitReached. Where none is needed, a request
    without one is taken for one of the person at this machine.
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
        sent = _sent_key(headers)
        # What a program passes on for others does not come from the person here, wherever it seems to come from.
        trusted = not self._needs_key and not any(name in headers for name in _PASSED_ON)
        # Clients made for other services have to send something: what is no key of Candor's is as good as none.
        if trusted and not sent.startswith(KEY_PREFIX):
            return LOCAL_CALLER
        if not sent:
            raise Unauthorized
        return await run_in_threadpool(self._admit, sent)


def is_open(path: str) -> bool:
    """Whether strangers may ask for it."""
    return path in OPEN or path.startswith(OPEN_FOLDER)


def _sent_key(headers: Headers) -> str:
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    return headers.get("x-api-key", "")

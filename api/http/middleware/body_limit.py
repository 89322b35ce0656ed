"""How much a request may hold that is read into memory as a whole, which is all but uploads."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ITS_OWN = "bounds_its_body"
_LEAVE = {"Connection": "close"}  # else what is left of the body would be waited for


class BodyLimit:
    """ASGI middleware: refuses a body as soon as there are more than ``most`` bytes of it.

    It is refused to whoever reads it, by HTTPException (413), so that it is told as other errors of the route are.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        read = 0

        async def received() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most and _ITS_OWN not in scope.get("state", {}):
                detail = f"The request's body has more than {self._most} bytes (the setting service.request_bytes)."
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, _LEAVE)
            return message

        await self._app(scope, received if scope["type"] == "http" else receive, send)


def bounds_its_body(request: Request) -> None:
    """Say so, before anything of the body is read: it goes to disk as it comes, within limits of its own."""
    setattr(request.state, _ITS_OWN, True)

"""Limits the size, values and depth of request bodies that are read into memory, which are all except uploads."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.middleware.json_bounds import json_fault

_SKIP = "skip_body_limit"
_CLOSE = {"Connection": "close"}  # otherwise the server would wait for the rest of the body


class BodyLimit:
    """ASGI middleware that rejects request bodies over ``max_bytes`` while they arrive, and JSON with too many values.

    Raises HTTPException (413 or 400), so the route reports it like any other error.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app, self._max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()

        async def limited_receive() -> Message:
            message = await receive()
            if message["type"] == "http.request" and _SKIP not in scope.get("state", {}):
                body.extend(message.get("body", b""))
                self._check(body, complete=not message.get("more_body"))
            return message

        await self._app(scope, limited_receive if scope["type"] == "http" else receive, send)

    def _check(self, body: bytearray, *, complete: bool) -> None:
        if len(body) > self._max_bytes:
            detail = f"The request body has more than {self._max_bytes} bytes (the setting service.request_bytes)."
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, _CLOSE)
        if complete and (fault := json_fault(bytes(body))):
            raise HTTPException(HTTPStatus.BAD_REQUEST, f"{fault}.")


def skip_body_limit(request: Request) -> None:
    """Exempt a request from the limit. Call it before reading the body, in routes with limits of their own."""
    setattr(request.state, _SKIP, True)

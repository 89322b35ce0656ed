"""Limits the size, values and depth of request bodies that are read into memory, which are all except uploads.

It checks the raw bytes of JSON, because parsing a hostile body takes seconds.
"""

from __future__ import annotations

from http import HTTPStatus

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_VALUES = 20_000
DEEPEST = 100
_OPENING, _CLOSING = b"[{", b"]}"
_KEPT = _OPENING + _CLOSING + b","
_OTHERS = bytes(set(range(256)) - set(_KEPT))
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


def json_fault(body: bytes) -> str:
    """Return why a body must not be parsed as JSON, or an empty string. The body may be invalid JSON."""
    if b"\0" in body:  # UTF-16 or UTF-32, whose bytes mean something else
        return "The request body is not JSON in UTF-8"
    unescaped = body.replace(rb"\\", b"").replace(rb"\"", b"")
    if unescaped.count(b'"') > 4 * MOST_VALUES:  # two for each string; a value has at most one key
        return _too_many()
    structure = b"".join(unescaped.split(b'"')[::2]).translate(None, _OTHERS)
    if structure.count(b",") + structure.count(b"[") + structure.count(b"{") > MOST_VALUES:
        return _too_many()
    if _depth(structure) > DEEPEST:
        return f"The request body has more than {DEEPEST} levels of lists and objects"
    return ""


def _depth(structure: bytes) -> int:
    depth = deepest = 0
    for each in structure.replace(b",", b""):
        depth += 1 if each in _OPENING else -1
        deepest = max(deepest, depth)
    return deepest


def _too_many() -> str:
    return f"The request body has more than {MOST_VALUES:,} values. Send less at once"

"""Ends the event streams of a key that is no longer valid, over every transport."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import Message, Send

_RECHECK_S = 1.0
_POLICY_VIOLATION = 1008
_REASON = "The key is no longer valid."


class StreamEnded(Exception):
    """The guard ended the stream. The application must stop sending."""


class StreamGuard:
    """Sends the messages of one response. Before each message of a stream, it checks whether the key is still valid.

    A request is authenticated once, but a stream can last for hours. ``is_valid`` blocks, so it is called at most once
    a second.
    """

    def __init__(self, send: Send, is_valid: Callable[[], bool]) -> None:
        self._send, self._is_valid = send, is_valid
        self._is_stream = False
        self._checked = time.monotonic()
        self.ended = False

    async def send(self, message: Message) -> None:
        """Send a message. Raises StreamEnded if it belongs to a stream whose key is no longer valid."""
        if message["type"] == "http.response.start":
            kind = Headers(raw=message["headers"]).get("content-type", "")
            self._is_stream = kind.startswith("text/event-stream")
        elif self._must_check(message) and not await self._still_valid():
            self.ended = True
            await self._send(_last(message))
            raise StreamEnded
        await self._send(message)

    def _must_check(self, message: Message) -> bool:
        streams = message["type"] == "websocket.send" or (self._is_stream and message.get("more_body", False))
        return streams and time.monotonic() - self._checked >= _RECHECK_S

    async def _still_valid(self) -> bool:
        valid = await run_in_threadpool(self._is_valid)
        self._checked = time.monotonic()
        return valid


def _last(message: Message) -> Message:
    if message["type"] == "websocket.send":
        return {"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": _REASON}
    return {"type": "http.response.body", "body": b"", "more_body": False}

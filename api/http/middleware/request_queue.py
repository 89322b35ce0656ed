"""Admits requests that start long work one at a time; see docs/concurrency.md."""

from __future__ import annotations

import asyncio
import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_QUEUED_PATHS = (re.compile(r"/v1/(research|chat/completions)"), re.compile(r"/v1/runs/[^/]+/events"))
"""Each pattern has its own queue."""
_MAX_HOLD_S = 0.05
"""How long a request that has not begun to respond holds back the next one."""


class RequestQueue:
    """ASGI middleware that queues requests to ``_QUEUED_PATHS``.

    The next request is admitted when the one before begins to respond, ends, or has run for ``_MAX_HOLD_S``.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._slots = [(path, asyncio.Semaphore(1)) for path in _QUEUED_PATHS]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        slot = next((slot for path, slot in self._slots if path.fullmatch(scope.get("path", ""))), None)
        if slot is None or scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await slot.acquire()
        released = False

        def release() -> None:
            nonlocal released
            if not released:
                released = True
                slot.release()

        async def send_and_release(message: Message) -> None:
            release()
            await send(message)

        timer = asyncio.get_running_loop().call_later(_MAX_HOLD_S, release)
        try:
            await self._app(scope, receive, send_and_release)
        finally:
            timer.cancel()
            release()

"""Requests that begin something long begin one after the other.

When a hundred people ask at the same moment, each request takes a few milliseconds of the event loop before its run is
taken on. Whoever searches at that moment would wait for all of them; those who asked wait seconds anyway.
"""

from __future__ import annotations

import asyncio
import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LONG = (re.compile(r"/v1/(research|chat/completions)"), re.compile(r"/v1/runs/[^/]+/events"))
"""Each kind has a line of its own."""
_MOST_S = 0.05
"""How long a request that does not answer yet, since it waits for its answer, keeps others from beginning."""


class RequestQueue:
    """ASGI middleware. A request has its turn until it begins to answer, or for ``_MOST_S``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turns = [(path, asyncio.Semaphore(1)) for path in _LONG]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        turn = next((turn for path, turn in self._turns if path.fullmatch(scope.get("path", ""))), None)
        if turn is None or scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await turn.acquire()
        over = asyncio.Event()

        def end() -> None:
            if not over.is_set():
                over.set()
                turn.release()

        async def answer(message: Message) -> None:
            end()
            await send(message)

        latest = asyncio.get_running_loop().call_later(_MOST_S, end)
        try:
            await self._app(scope, receive, answer)
        finally:
            latest.cancel()
            end()

"""Limits for the requests and replies of one endpoint within this process. See docs/concurrency.md."""

from __future__ import annotations

import asyncio

from multi_agent.llm.endpoint import Endpoint, EndpointRequest, EndpointWrapper, Reply


class ConcurrencyLimit(EndpointWrapper):
    """An endpoint with at most ``parallel`` concurrent requests. The others wait in order."""

    def __init__(self, inner: Endpoint, parallel: int) -> None:
        super().__init__(inner)
        self._slots = asyncio.Semaphore(parallel)

    async def send(self, request: EndpointRequest) -> Reply:
        async with self._slots:
            return await super().send(request)


class ReplyQueue(EndpointWrapper):
    """An endpoint that returns replies one at a time, with one iteration of the event loop between two replies."""

    def __init__(self, inner: Endpoint) -> None:
        super().__init__(inner)
        self._lock = asyncio.Lock()

    async def send(self, request: EndpointRequest) -> Reply:
        reply = await super().send(request)
        async with self._lock:
            await asyncio.sleep(0)
        return reply

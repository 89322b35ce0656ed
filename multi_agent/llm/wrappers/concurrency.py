"""Limits the concurrent requests to one endpoint within this process."""

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

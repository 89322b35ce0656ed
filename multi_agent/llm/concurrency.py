"""Bounds how many requests are under way at an endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from multi_agent.llm.endpoint import Endpoint, JsonSchema, Reply
from multi_agent.llm.llm import Hear, Message


class ConcurrencyLimit:
    """An endpoint with at most ``parallel`` requests at once; the others wait their turn, in order."""

    def __init__(self, inner: Endpoint, parallel: int) -> None:
        self._inner = inner
        self._slots = asyncio.Semaphore(parallel)

    async def send(
        self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None, hear: Hear | None = None
    ) -> Reply:
        async with self._slots:
            return await self._inner.send(messages, schema, temperature, hear)

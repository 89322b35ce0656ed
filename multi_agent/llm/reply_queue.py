"""Lets replies in one after the other, however many come at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from multi_agent.llm.endpoint import Endpoint, JsonSchema, Reply
from multi_agent.llm.llm import Hear, Message


class ReplyQueue:
    """An endpoint whose callers go on one at a time, with a round of the event loop between any two.

    A reply is followed by milliseconds of work: it is checked, kept, told of, and the next step begins. If a hundred
    runs got theirs in the same round, all that listens to them would have to wait for all of that.
    """

    def __init__(self, inner: Endpoint) -> None:
        self._inner = inner
        self._turn = asyncio.Lock()

    async def send(
        self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None, hear: Hear | None = None
    ) -> Reply:
        reply = await self._inner.send(messages, schema, temperature, hear)
        async with self._turn:
            await asyncio.sleep(0)
        return reply

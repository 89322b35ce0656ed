"""What one follower of a run has yet to be told."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Subscription(Generic[T]):
    """Filled by a run, emptied by one follower, in the same event loop.

    An ``asyncio.Queue`` under a time-out needs three rounds of the event loop to hand something on; this needs one. In
    every round each of a hundred runs may take a step, and the follower waits for all of them.
    """

    def __init__(self) -> None:
        self._letters: deque[T | None] = deque()
        self._woken: asyncio.Future[None] | None = None

    def put(self, letter: T | None) -> None:
        """Leave something to be told; None only wakes the follower."""
        self._letters.append(letter)
        self._wake()

    async def take(self, seconds: float) -> T | None:
        """The next that was left; None if nothing was within ``seconds``. One taker at a time."""
        if not self._letters:
            loop = asyncio.get_running_loop()
            self._woken = loop.create_future()
            limit = loop.call_later(seconds, self._wake)
            try:
                await self._woken
            finally:
                limit.cancel()
        return self._letters.popleft() if self._letters else None

    def _wake(self) -> None:
        if self._woken and not self._woken.done():
            self._woken.set_result(None)

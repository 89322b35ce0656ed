"""A subscriber's queue of events."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Subscription(Generic[T]):
    """A queue with one producer and one consumer in the same event loop.

    ``asyncio.Queue`` with a timeout needs three iterations of the event loop to pass an item on; this needs one. With
    a hundred active runs, each iteration can take a step of every run, and the consumer waits for all of them.
    """

    def __init__(self) -> None:
        self._items: deque[T | None] = deque()
        self._woken: asyncio.Future[None] | None = None

    def put(self, item: T | None) -> None:
        """Append an item; None only wakes the consumer, once if it is put several times."""
        if item is not None or not self._items or self._items[-1] is not None:
            self._items.append(item)
        self._wake()

    async def get(self, timeout_s: float) -> T | None:
        """Remove and return the next item, or None after ``timeout_s`` seconds without one."""
        if not self._items:
            loop = asyncio.get_running_loop()
            self._woken = loop.create_future()
            timer = loop.call_later(timeout_s, self._wake)
            try:
                await self._woken
            finally:
                timer.cancel()
        return self._items.popleft() if self._items else None

    def _wake(self) -> None:
        if self._woken and not self._woken.done():
            self._woken.set_result(None)

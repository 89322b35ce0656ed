"""The time limit of a step. It pauses while the step waits for a person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class StepTimeout:
    """The time limit of one try of a step.

    async with timeout.limited() as limit:   # raises TimeoutError after the seconds; then limit.expired() is true
        with timeout.paused(): …             # anywhere inside
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._limit: asyncio.Timeout | None = None
        self._pauses = 0
        self._left = seconds

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[asyncio.Timeout]:
        """Limit the time of the block."""
        async with asyncio.timeout(self.seconds) as self._limit:
            yield self._limit

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock during the block. Blocks may overlap; the clock resumes after the last one."""
        if not self._pauses:
            self._pause()
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._resume()

    def _pause(self) -> None:
        if self._limit and (when := self._limit.when()) is not None:
            self._left = when - asyncio.get_running_loop().time()
            self._limit.reschedule(None)

    def _resume(self) -> None:
        if self._limit:
            self._limit.reschedule(asyncio.get_running_loop().time() + self._left)

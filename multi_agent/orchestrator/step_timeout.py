"""The time that an agent's turn may take. It stands still while the turn waits for a person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class StepTimeout:
    """One turn's; made anew for every turn.

    async with time.limited() as limit:      # raises TimeoutError after the seconds, limit.expired() is true then
        with time.standing_still(): …        # anywhere inside
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._limit: asyncio.Timeout | None = None
        self._waiting = 0
        self._left = seconds

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[asyncio.Timeout]:
        """The turn itself."""
        async with asyncio.timeout(self.seconds) as self._limit:
            yield self._limit

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """While somebody is waited for; several may be at once."""
        if not self._waiting:
            self._stop()
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._go_on()

    def _stop(self) -> None:
        if self._limit and (when := self._limit.when()) is not None:
            self._left = when - asyncio.get_running_loop().time()
            self._limit.reschedule(None)

    def _go_on(self) -> None:
        if self._limit:
            self._limit.reschedule(asyncio.get_running_loop().time() + self._left)

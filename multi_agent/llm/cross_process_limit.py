"""Bounds how many requests are under way at an endpoint from all processes that share a folder.

A request needs a place, and to take one, the turn: both are files that are locked, which the operating system lets go
of when their holder is killed. Nobody is told when one is given back, so whoever found none looks again in a moment. To
be fair between processes, one that had to wait leaves the others time to take the next turn.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from multi_agent.llm.endpoint import Endpoint, JsonSchema, Reply
from multi_agent.llm.llm import Hear, Message
from multi_agent.llm.settings import EndpointSettings

_LOOK_AGAIN_S = 0.02
_LEAVE_TO_OTHERS_S = 2 * _LOOK_AGAIN_S


class CrossProcessLimit:
    """An endpoint with at most ``parallel`` requests at once from everybody who shares the folder.

    Processes that set different bounds hold to their own, and count the others' requests. Within this process, bound
    the requests by ``ConcurrencyLimit`` first: what waits there does so in order, and costs nothing.
    """

    def __init__(self, inner: Endpoint, folder: Path, settings: EndpointSettings) -> None:
        asked = "\n".join((settings.provider, settings.base_url, settings.model))
        own = folder / hashlib.sha256(asked.encode()).hexdigest()[:16]
        self._inner = inner
        self._free = [_lock(own / f"{number}.lock") for number in range(settings.parallel)]
        self._turn = _lock(own / "turn.lock")
        self._next = asyncio.Lock()
        self._had_to_wait = False

    async def send(
        self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None, hear: Hear | None = None
    ) -> Reply:
        place = await self._take()
        try:
            return await self._inner.send(messages, schema, temperature, hear)
        finally:
            place.release()
            self._free.append(place)

    async def _take(self) -> FileLock:
        """A place, when it is this process's turn and one is free."""
        async with self._next:
            if self._had_to_wait:
                await asyncio.sleep(_LEAVE_TO_OTHERS_S)
            self._had_to_wait = False
            turn = await self._first_of([self._turn])
            try:
                place = await self._first_of(self._free)
            finally:
                turn.release()
            self._free.remove(place)
            return place

    async def _first_of(self, locks: list[FileLock]) -> FileLock:
        while not (taken := next(filter(_acquired, locks), None)):
            self._had_to_wait = True
            await asyncio.sleep(_LOOK_AGAIN_S)
        return taken


def _lock(path: Path) -> FileLock:
    """No soft lock, which would outlive a killed process: on a file system without locks there is an OSError."""
    return FileLock(path, thread_local=False, fallback_to_soft=False)


def _acquired(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True

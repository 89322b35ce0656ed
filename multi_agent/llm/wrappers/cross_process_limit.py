"""Limits the requests to an endpoint over all processes that share its locks.

A request holds one of ``parallel`` locks, its slot. Another lock, the turn, is held while waiting for a slot, so that
processes wait in turn. The release of a lock sends no notification, so waiting processes poll. For fairness, a process
that had to wait pauses before it takes the turn again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from multi_agent.llm.endpoint import Endpoint, EndpointRequest, EndpointWrapper, Reply
from multi_agent.llm.settings import EndpointSettings

_POLL_S = 0.02
_YIELD_S = 2 * _POLL_S
_TURN = 0  # the slots have the numbers from 1


class HeldLock(Protocol):
    """A lock that this process holds."""

    def release(self) -> None:
        """Release the lock without waiting. Called once."""
        ...


class EndpointLocks(Protocol):
    """Numbered locks of one endpoint. The locks of a process that ends are released, also if it was killed.

    Implementations: ``file_locks.py``, and ``api/storage/advisory_locks.py`` for processes on several machines.
    """

    async def acquire(self, numbers: Sequence[int]) -> HeldLock | None:
        """Acquire the first free lock. Return None if each is held, be it by this process or by another."""
        ...


MakeLocks = Callable[[EndpointSettings], EndpointLocks]


class CrossProcessLimit(EndpointWrapper):
    """An endpoint with at most ``parallel`` concurrent requests over all processes that share ``locks``.

    Processes with different limits keep their own limit and count each other's requests. For the requests of this
    process, wrap it in ``ConcurrencyLimit``, whose queue is ordered and needs no polling.
    """

    def __init__(self, inner: Endpoint, locks: EndpointLocks, parallel: int) -> None:
        super().__init__(inner)
        self._locks, self._slots = locks, range(_TURN + 1, _TURN + 1 + parallel)
        self._local_lock = asyncio.Lock()
        self._had_to_wait = False

    async def send(self, request: EndpointRequest) -> Reply:
        slot = await self._acquire_slot()
        try:
            return await super().send(request)
        finally:
            slot.release()

    async def _acquire_slot(self) -> HeldLock:
        """Wait for the turn, then for a free slot."""
        async with self._local_lock:
            if self._had_to_wait:
                await asyncio.sleep(_YIELD_S)
            self._had_to_wait = False
            turn = await self._acquire_first([_TURN])
            try:
                return await self._acquire_first(self._slots)
            finally:
                turn.release()

    async def _acquire_first(self, numbers: Sequence[int]) -> HeldLock:
        while not (acquired := await self._locks.acquire(numbers)):
            self._had_to_wait = True
            await asyncio.sleep(_POLL_S)
        return acquired

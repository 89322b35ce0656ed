"""Limits the concurrent requests to an endpoint, in this process and over all processes that share its locks.

In a process, requests wait in order. A request holds one of ``parallel`` locks, its slot. Another lock, the turn, is
held while waiting for a slot, so that processes wait in turn. The release of a lock sends no notification, so waiting
processes poll. For fairness, a process that had to wait pauses before it takes the turn again.
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


class RequestLimit(EndpointWrapper):
    """An endpoint with at most ``parallel`` concurrent requests in this process, and with those that share ``locks``.

    Processes with different limits keep their own limit and count each other's requests.
    """

    def __init__(self, inner: Endpoint, parallel: int, locks: EndpointLocks | None = None) -> None:
        super().__init__(inner)
        self._locks, self._slots = locks, range(_TURN + 1, _TURN + 1 + parallel)
        self._here = asyncio.Semaphore(parallel)
        self._local_lock = asyncio.Lock()
        self._had_to_wait = False

    async def send(self, request: EndpointRequest) -> Reply:
        async with self._here:
            if self._locks is None:
                return await self._inner.send(request)
            slot = await self._acquire_slot(self._locks)
            try:
                return await self._inner.send(request)
            finally:
                slot.release()

    async def _acquire_slot(self, locks: EndpointLocks) -> HeldLock:
        """Wait for the turn, then for a free slot."""
        async with self._local_lock:
            if self._had_to_wait:
                await asyncio.sleep(_YIELD_S)
            self._had_to_wait = False
            turn = await self._acquire_first(locks, [_TURN])
            try:
                return await self._acquire_first(locks, self._slots)
            finally:
                turn.release()

    async def _acquire_first(self, locks: EndpointLocks, numbers: Sequence[int]) -> HeldLock:
        while not (acquired := await locks.acquire(numbers)):
            self._had_to_wait = True
            await asyncio.sleep(_POLL_S)
        return acquired

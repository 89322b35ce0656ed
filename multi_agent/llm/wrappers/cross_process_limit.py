"""Limits the requests to an endpoint over all processes that share a folder.

A request holds one of ``parallel`` slots. Slots are file locks, which the operating system releases when their holder
is killed. A second lock, the queue lock, is held while waiting for a slot, so that processes wait in turn. The release
of a lock sends no notification, so waiting processes poll. For fairness, a process that had to wait pauses before it
takes the queue lock again.
"""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from filelock import FileLock, Timeout

from multi_agent.llm.endpoint import Endpoint, EndpointRequest, EndpointWrapper, Reply
from multi_agent.llm.settings import EndpointSettings

_POLL_S = 0.02
_YIELD_S = 2 * _POLL_S


class CrossProcessLimit(EndpointWrapper):
    """An endpoint with at most ``parallel`` concurrent requests over all processes that share ``folder``.

    Processes with different limits keep their own limit and count each other's requests. For the requests of this
    process, wrap it in ``ConcurrencyLimit``, whose queue is ordered and needs no polling.
    """

    def __init__(self, inner: Endpoint, folder: Path, settings: EndpointSettings) -> None:
        super().__init__(inner)
        identity = "\n".join((settings.provider, settings.base_url, settings.model))
        locks = folder / hashlib.sha256(identity.encode()).hexdigest()[:16]
        self._free_slots = [_file_lock(locks / f"{number}.lock") for number in range(settings.parallel)]
        self._queue_lock = _file_lock(locks / "turn.lock")
        self._local_lock = asyncio.Lock()
        self._had_to_wait = False

    async def send(self, request: EndpointRequest) -> Reply:
        slot = await self._acquire_slot()
        try:
            return await super().send(request)
        finally:
            slot.release()
            self._free_slots.append(slot)

    async def _acquire_slot(self) -> FileLock:
        """Wait for the queue lock, then for a free slot."""
        async with self._local_lock:
            if self._had_to_wait:
                await asyncio.sleep(_YIELD_S)
            self._had_to_wait = False
            queue_lock = await self._acquire_first([self._queue_lock])
            try:
                slot = await self._acquire_first(self._free_slots)
            finally:
                queue_lock.release()
            self._free_slots.remove(slot)
            return slot

    async def _acquire_first(self, locks: list[FileLock]) -> FileLock:
        while not (acquired := next(filter(_try_acquire, locks), None)):
            self._had_to_wait = True
            await asyncio.sleep(_POLL_S)
        return acquired


def _file_lock(path: Path) -> FileLock:
    """Return a lock of the operating system. A soft lock would outlive a killed process.

    Acquiring it raises OSError on a file system without locks.
    """
    return FileLock(path, thread_local=False, fallback_to_soft=False)


def _try_acquire(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True

"""File locks for the requests of all processes on one machine. The operating system releases those of a killed one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from multi_agent.llm.settings import EndpointSettings


class FileLocks:
    """Implements ``EndpointLocks`` for processes that share ``folder``.

    Acquiring a lock raises OSError on a file system without locks.
    """

    def __init__(self, folder: Path, settings: EndpointSettings) -> None:
        self._folder = folder / hashlib.sha256(settings.identity.encode()).hexdigest()[:16]
        self._locks: dict[int, FileLock] = {}

    async def acquire(self, numbers: Sequence[int]) -> FileLock | None:
        return next(filter(_try_acquire, map(self._lock, numbers)), None)

    def _lock(self, number: int) -> FileLock:
        """Return a lock of the operating system. A soft lock would outlive a killed process."""
        if number not in self._locks:
            path = self._folder / f"{number}.lock"
            self._locks[number] = FileLock(path, thread_local=False, fallback_to_soft=False)
        return self._locks[number]


def _try_acquire(lock: FileLock) -> bool:
    if lock.is_locked:  # a second acquisition by the same object would succeed
        return False
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True

"""The lock that lets one process at a time work on the runs of a home folder."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

log = logging.getLogger(__name__)

_FILE = "research.lock"
_WARN_EVERY_S = 10.0


@contextmanager
def research_lock(home: Path) -> Iterator[None]:
    """Hold the lock, after waiting for the process that has it.

    A killed service may leave its research process behind for a moment. If another process resumed a run meanwhile,
    its events would be published twice and its model calls paid twice.
    """
    lock = FileLock(home / _FILE, thread_local=False, fallback_to_soft=False)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=_WARN_EVERY_S)
        except Timeout:
            log.warning("Another process works on the runs of %s. Waiting until it has ended.", home)
    try:
        yield
    finally:
        lock.release()

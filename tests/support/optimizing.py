"""Stops the processes that optimize collections, so that a test can act meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from vectorstore.edge import optimizer


@contextmanager
def stopped_optimizers() -> Iterator[list[int]]:
    """Stop each process that optimizes when it has made the copy. Yield their ids; continue them at the end."""
    pids: list[int] = []

    def copy_and_stop(self: optimizer.OptimizedCopy) -> None:
        copy(self)
        os.kill(self._child.pid, signal.SIGSTOP)
        pids.append(self._child.pid)

    copy = optimizer.OptimizedCopy.copy
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimizer.OptimizedCopy, "copy", copy_and_stop)
        try:
            yield pids
        finally:
            for pid in pids:
                if psutil.pid_exists(pid):
                    os.kill(pid, signal.SIGCONT)

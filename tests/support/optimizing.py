"""Stops the processes that optimize collections, so that a test can act meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from vectorstore import optimizer


@contextmanager
def stopped_optimizers() -> Iterator[list[int]]:
    """Stop each process that optimizes when it starts. Yield their ids; continue them at the end of the block."""
    pids: list[int] = []

    class Stopped(optimizer.ChildProcess):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[arg-type]
            os.kill(self.pid, signal.SIGSTOP)
            pids.append(self.pid)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimizer, "ChildProcess", Stopped)
        try:
            yield pids
        finally:
            for pid in pids:
                if psutil.pid_exists(pid):
                    os.kill(pid, signal.SIGCONT)

"""Ends a run that keeps its event loop busy. All other runs, and the end of the process, would wait for it.

A coroutine that never awaits cannot be cancelled. So a thread observes the loop, and raises ``LoopBlocked`` in the code
that blocks it. Time counts as CPU time of the loop's thread: a process that was frozen, or a slow machine, is no fault
of the run. Code that blocks without computing, or that computes outside Python, is not interrupted.
"""

import asyncio
import ctypes
import logging
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from multi_agent.errors import RunEnded

log = logging.getLogger(__name__)

LIMIT_S = 60.0
"""CPU time. The longest computations of Candor's own steps take about a second."""
_CHECKS = 12  # within the limit


class LoopBlocked(RunEnded):
    """A step computed without a pause until the time limit."""

    def __init__(self) -> None:
        super().__init__(
            "A step computed for a minute without a pause, so that all other runs waited for it. It was interrupted. "
            "The log of the process shows where. This is a defect in Candor, or in an agent or tool of a package."
        )


class _Watchdog:
    """Observes one event loop, while it has runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit_s: float) -> None:
        self._loop, self._limit_s, self._thread_id = loop, limit_s, threading.get_ident()
        # Looked up now: for a thread that has ended, the lookup crashes the process, but the clock raises OSError.
        self._clock = None if sys.platform == "darwin" else time.pthread_getcpuclockid(self._thread_id)
        self.runs = 0
        self.idle = threading.Event()
        """Ends the thread, which may take a moment longer."""
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def _cpu_s(self) -> float:
        """Return the CPU time of the loop's thread. macOS measures that of the process only."""
        return time.process_time() if self._clock is None else time.clock_gettime(self._clock)

    def _watch(self) -> None:
        try:
            self._observe()
        except (OSError, RuntimeError) as error:  # the thread of the loop has ended, or the loop is closed
            log.debug("The loop ended before its runs: %s", error)

    def _observe(self) -> None:
        answered, asked_at, blocking = threading.Event(), 0.0, None
        answered.set()
        while not self.idle.wait(self._limit_s / _CHECKS):
            if answered.is_set():
                answered, asked_at, blocking = threading.Event(), self._cpu_s(), None
                self._loop.call_soon_threadsafe(answered.set)
                continue
            current = asyncio.current_task(self._loop)
            if current is None or blocking not in (None, current):  # it goes on, if slowly
                answered.set()
            elif self._cpu_s() - asked_at >= self._limit_s:
                self._interrupt(current)
                answered.set()
            blocking = current

    def _interrupt(self, task: asyncio.Task[object]) -> None:
        frame = sys._current_frames()[self._thread_id]
        log.error(
            "The task %r blocked all runs and is interrupted at:\n%s", task, "".join(traceback.format_stack(frame))
        )
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread_id), ctypes.py_object(LoopBlocked))


_watchdogs: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watchdog] = WeakKeyDictionary()


@contextmanager
def watched() -> Iterator[None]:
    """Observe the running event loop until the end of the block. Blocks of one loop share a thread."""
    loop = asyncio.get_running_loop()
    watchdog = _watchdogs.get(loop)
    if watchdog is None:
        watchdog = _watchdogs[loop] = _Watchdog(loop, LIMIT_S)
    watchdog.runs += 1
    try:
        yield
    finally:
        watchdog.runs -= 1
        if not watchdog.runs:
            watchdog.idle.set()
            del _watchdogs[loop]

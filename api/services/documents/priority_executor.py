"""Gives searches of users priority over searches of runs. See docs/concurrency.md."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 4
_WAIT_S = 0.5  # a call that is not urgent waits at most this long


class PriorityExecutor:
    """Runs urgent calls in threads, and lets other calls wait until no urgent call is running."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="priority")
        self._changed = threading.Condition()
        self._running = 0

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function in a thread, with the caller's context variables, and return its result."""
        self._count(1)
        try:
            call = partial(contextvars.copy_context().run, function, *args, **kwargs)
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        finally:
            self._count(-1)

    def wait_until_idle(self, timeout_s: float = _WAIT_S) -> None:
        """Block until no call of ``run`` is in progress, but at most ``timeout_s``."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running, timeout_s)

    def close(self) -> None:
        """Let the threads end after their current calls. May be called again."""
        self._threads.shutdown(wait=False)

    def _count(self, change: int) -> None:
        with self._changed:
            self._running += change
            self._changed.notify_all()

"""Who searches by hand comes before the searches of runs, which are done in between."""

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

_AT_ONCE = 4
"""A share of the interpreter's lock, which goes round among all threads that want it. With more of them than this, a
hundred runs that began together once made each search cost twice its processor time (two processors)."""


class PriorityExecutor:
    """Threads for those who cannot wait, and word of them for those who can."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="first")
        self._changed = threading.Condition()
        self._under_way = 0

    async def first(self, do: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What it gives, done in a thread of its own before all that gives way. Raises what it raises."""
        self._count(1)
        try:
            known = contextvars.copy_context()  # as asyncio.to_thread does: the audit is told so what was read
            done = partial(known.run, do, *args, **kwargs)
            return await asyncio.get_running_loop().run_in_executor(self._threads, done)
        finally:
            self._count(-1)

    def give_way(self, at_most_s: float) -> None:
        """Block until nobody is first, or for ``at_most_s``: there may always be somebody."""
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way, at_most_s)

    def close(self) -> None:
        """Let the threads end, when they have done what they do. Idempotent."""
        self._threads.shutdown(wait=False)

    def _count(self, change: int) -> None:
        with self._changed:
            self._under_way += change
            self._changed.notify_all()

"""Waiting for a condition, and moving the clock of an event loop. No test waits for a fixed time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

LIMIT_S = 300
"""Generous, because the machine may be slow or busy. The time limit of a test (`pyproject.toml`) is longer."""


def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, f"the condition did not hold within {LIMIT_S} s"
        time.sleep(0.02)


async def wait_for(condition: Callable[[], object]) -> None:
    """Wait until the condition holds, while the event loop goes on. Raises TimeoutError."""
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110 (the condition may depend on another process)
            await asyncio.sleep(0.01)


def advance_clock(seconds: float) -> None:
    """Move the clock of the running event loop forward, so that its time limits expire without waiting."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]

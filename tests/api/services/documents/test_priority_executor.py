"""Searches of runs wait for searches of users, for a limited time."""

from __future__ import annotations

import asyncio
import threading

from api.services.documents.priority_executor import PriorityExecutor
from support.waiting import LIMIT_S


async def test_waiting_ends_when_no_call_is_running() -> None:
    executor, searching, order = PriorityExecutor(), threading.Event(), list[str]()

    def user_search() -> None:
        searching.wait(LIMIT_S)
        order.append("user")

    def run_search() -> None:
        executor.wait_until_idle(LIMIT_S)
        order.append("run")

    first = asyncio.create_task(executor.run(user_search))
    await asyncio.sleep(0)
    second = asyncio.create_task(asyncio.to_thread(run_search))
    await asyncio.sleep(0.02)
    searching.set()
    await asyncio.gather(first, second)
    assert order == ["user", "run"]
    executor.close()


async def test_waiting_ends_after_the_timeout() -> None:
    executor, searching = PriorityExecutor(), threading.Event()
    first = asyncio.create_task(executor.run(searching.wait, LIMIT_S))
    await asyncio.sleep(0)
    await asyncio.to_thread(executor.wait_until_idle, 0.01)
    assert not first.done()
    searching.set()
    await first
    executor.close()

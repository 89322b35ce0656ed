"""A subscription returns items in order and without delay."""

from __future__ import annotations

import asyncio

from api.jobs.research import Subscription
from support.waiting import LIMIT_S


async def test_items_arrive_in_order() -> None:
    subscription = Subscription[str]()
    for item in "abc":
        subscription.put(item)
    assert [await subscription.get(1) for _ in "abc"] == ["a", "b", "c"]


async def test_a_waiting_consumer_wakes_in_the_next_loop_iteration() -> None:
    subscription = Subscription[str]()
    waiting = asyncio.create_task(subscription.get(60))
    await asyncio.sleep(0)
    subscription.put("a")
    await asyncio.sleep(0)
    assert waiting.done()
    assert waiting.result() == "a"


async def test_items_after_a_timeout_are_not_lost() -> None:
    subscription = Subscription[str]()
    assert await subscription.get(0.01) is None
    subscription.put("a")
    assert await subscription.get(0.01) == "a"


async def test_none_wakes_the_consumer() -> None:
    subscription = Subscription[str]()
    waiting = asyncio.create_task(subscription.get(60))
    await asyncio.sleep(0)
    subscription.put(None)
    assert await asyncio.wait_for(waiting, LIMIT_S) is None


async def test_a_cancelled_consumer_loses_no_item() -> None:
    subscription = Subscription[str]()
    waiting = asyncio.create_task(subscription.get(60))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    subscription.put("a")
    assert await subscription.get(1) == "a"

"""What a follower is told, and how soon."""

from __future__ import annotations

import asyncio

from api.jobs.subscription import Subscription


async def test_letters_are_taken_in_the_order_in_which_they_were_left() -> None:
    mailbox = Subscription[str]()
    for letter in "abc":
        mailbox.put(letter)
    assert [await mailbox.take(1) for _ in "abc"] == ["a", "b", "c"]


async def test_whoever_waits_is_told_in_the_next_round_of_the_event_loop() -> None:
    mailbox = Subscription[str]()
    waiting = asyncio.create_task(mailbox.take(60))
    await asyncio.sleep(0)
    mailbox.put("a")
    await asyncio.sleep(0)
    assert waiting.done()
    assert waiting.result() == "a"


async def test_a_silence_ends_after_its_time_and_what_comes_later_is_not_lost() -> None:
    mailbox = Subscription[str]()
    assert await mailbox.take(0.01) is None
    mailbox.put("a")
    assert await mailbox.take(0.01) == "a"


async def test_none_wakes_the_follower_at_once() -> None:
    mailbox = Subscription[str]()
    waiting = asyncio.create_task(mailbox.take(60))
    await asyncio.sleep(0)
    mailbox.put(None)
    assert await asyncio.wait_for(waiting, 1) is None


async def test_a_follower_that_went_away_takes_nothing_with_it() -> None:
    mailbox = Subscription[str]()
    waiting = asyncio.create_task(mailbox.take(60))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    mailbox.put("a")
    assert await mailbox.take(1) == "a"

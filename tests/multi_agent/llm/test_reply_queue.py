"""Replies that come at once are let in one by one, and others have their turn in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby

from multi_agent.llm.endpoint import JsonSchema, Reply
from multi_agent.llm.llm import Hear, Message
from multi_agent.llm.reply_queue import ReplyQueue


class AllAtOnce:
    """An endpoint that answers everybody at the same moment."""

    def __init__(self) -> None:
        self.moment = asyncio.Event()

    async def send(
        self, messages: Sequence[Message], schema: JsonSchema, temperature: float | None, hear: Hear | None = None
    ) -> Reply:
        await self.moment.wait()
        return Reply(text=messages[0].content)


async def test_between_two_replies_everybody_else_has_a_turn_and_none_overtakes() -> None:
    endpoint, happened = AllAtOnce(), list[str]()
    paced = ReplyQueue(endpoint)

    async def run(name: str) -> None:
        happened.append((await paced.send([Message.user(name)], {}, None)).text)

    async def bystander() -> None:
        while len(runs := [each for each in happened if each != "turn"]) < 5:
            happened.append("turn")
            await asyncio.sleep(0)
        assert runs == list("abcde")

    tasks = [asyncio.create_task(run(name)) for name in "abcde"]
    await asyncio.sleep(0)
    endpoint.moment.set()
    await bystander()
    await asyncio.gather(*tasks)
    assert [len(list(each)) for who, each in groupby(happened, key=lambda each: each == "turn") if not who] == [1] * 5

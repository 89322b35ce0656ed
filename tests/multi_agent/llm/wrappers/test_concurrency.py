"""Replies that arrive at once are returned one by one, and other tasks run in between."""

from __future__ import annotations

import asyncio
from itertools import groupby

from multi_agent.llm.endpoint import EndpointRequest, Reply
from multi_agent.llm.llm import Message
from multi_agent.llm.wrappers.concurrency import ReplyQueue


class SimultaneousEndpoint:
    """An endpoint that answers all requests in the same iteration of the event loop."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()

    async def send(self, request: EndpointRequest) -> Reply:
        await self.ready.wait()
        return Reply(text=request.messages[0].content)


async def test_other_tasks_run_between_replies_that_keep_their_order() -> None:
    endpoint, happened = SimultaneousEndpoint(), list[str]()
    queue = ReplyQueue(endpoint)

    async def run(name: str) -> None:
        happened.append((await queue.send(EndpointRequest((Message.user(name),), {}, None))).text)

    async def other_task() -> None:
        while len(replies := [each for each in happened if each != "other"]) < 5:
            happened.append("other")
            await asyncio.sleep(0)
        assert replies == list("abcde")

    tasks = [asyncio.create_task(run(name)) for name in "abcde"]
    await asyncio.sleep(0)
    endpoint.ready.set()
    await other_task()
    await asyncio.gather(*tasks)
    runs_of_replies = [list(each) for other, each in groupby(happened, key=lambda each: each == "other") if not other]
    assert [len(each) for each in runs_of_replies] == [1] * 5

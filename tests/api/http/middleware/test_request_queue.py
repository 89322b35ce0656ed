"""Who searches is not held up by those who ask: requests that begin runs take turns, searches of runs give way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from starlette.types import Receive, Scope, Send

from api.bootstrap import Candor
from api.http.app import make_app
from api.http.middleware.request_queue import RequestQueue
from api.services.priority_executor import PriorityExecutor


class Requests:
    """An application whose requests wait until they are let go on; it knows which have begun."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.answers, self.ends = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.append(scope["path"])
        await self.answers.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.ends.wait()


async def _sent(app: RequestQueue, *paths: str) -> list[asyncio.Task[None]]:
    async def nothing(*_: Any) -> Any: ...

    tasks = [asyncio.create_task(app({"type": "http", "path": path}, nothing, nothing)) for path in paths]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.001)


def test_the_service_has_them_take_turns(make_candor: Callable[..., Candor]) -> None:
    assert RequestQueue in [each.cls for each in make_app(make_candor()).user_middleware]


async def test_the_next_one_begins_when_the_one_before_answers_and_others_at_once() -> None:
    requests = Requests()
    tasks = await _sent(RequestQueue(requests), "/v1/research", "/v1/research", "/v1/search", "/v1/runs/run_1/events")
    assert requests.begun == ["/v1/research", "/v1/search", "/v1/runs/run_1/events"]
    requests.answers.set()
    await _until(lambda: len(requests.begun) == 4)
    requests.ends.set()
    await asyncio.gather(*tasks)


async def test_one_that_waits_for_its_answer_does_not_keep_the_others() -> None:
    requests = Requests()
    tasks = await _sent(RequestQueue(requests), *["/v1/research"] * 3)
    await _until(lambda: len(requests.begun) == 3)
    requests.answers.set()
    requests.ends.set()
    await asyncio.gather(*tasks)


async def test_one_that_is_broken_off_lets_the_next_begin() -> None:
    requests = Requests()
    first, second = await _sent(RequestQueue(requests), "/v1/research", "/v1/research")
    first.cancel()
    await _until(lambda: len(requests.begun) == 2)
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)


async def test_what_gives_way_waits_until_nobody_is_first() -> None:
    precedence, searching, order = PriorityExecutor(), threading.Event(), list[str]()

    def search() -> None:
        searching.wait(10)
        order.append("search")

    def of_a_run() -> None:
        precedence.give_way(10)
        order.append("of a run")

    first = asyncio.create_task(precedence.first(search))
    await asyncio.sleep(0)
    second = asyncio.create_task(asyncio.to_thread(of_a_run))
    await asyncio.sleep(0.02)
    searching.set()
    await asyncio.gather(first, second)
    assert order == ["search", "of a run"]
    precedence.close()


async def test_what_gives_way_does_not_wait_for_ever() -> None:
    precedence, searching = PriorityExecutor(), threading.Event()
    first = asyncio.create_task(precedence.first(searching.wait, 10))
    await asyncio.sleep(0)
    await asyncio.to_thread(precedence.give_way, 0.01)
    assert not first.done()
    searching.set()
    await first
    precedence.close()

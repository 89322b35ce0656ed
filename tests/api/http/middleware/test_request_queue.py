"""Requests that start runs are queued, so that they do not delay searches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from api.bootstrap import Candor
from api.http.app import make_app
from api.http.middleware import request_queue
from api.http.middleware.request_queue import RequestQueue
from support.waiting import wait_for


class BlockingApp:
    """An application that records its requests and responds when ``responding`` and ``ending`` are set."""

    def __init__(self) -> None:
        self.admitted: list[str] = []
        self.responding, self.ending = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.admitted.append(scope["path"])
        await self.responding.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.ending.wait()


async def _request(app: RequestQueue, *paths: str) -> list[asyncio.Task[None]]:
    async def nothing(*_: Any) -> Any: ...

    tasks = [asyncio.create_task(app({"type": "http", "path": path}, nothing, nothing)) for path in paths]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


def test_the_service_uses_the_queue(make_candor: Callable[..., Candor]) -> None:
    assert RequestQueue in [each.cls for each in make_app(make_candor()).user_middleware]


@pytest.fixture
def no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request holds back others until it responds or ends."""
    monkeypatch.setattr(request_queue, "_MAX_HOLD_S", 600)


@pytest.mark.usefixtures("no_time_limit")
async def test_a_response_admits_the_next_request() -> None:
    app = BlockingApp()
    tasks = await _request(RequestQueue(app), "/v1/research", "/v1/research", "/v1/search", "/v1/runs/run_1/events")
    assert app.admitted == ["/v1/research", "/v1/search", "/v1/runs/run_1/events"]
    app.responding.set()
    await wait_for(lambda: len(app.admitted) == 4)
    app.ending.set()
    await asyncio.gather(*tasks)


async def test_a_request_without_response_holds_back_others_briefly() -> None:
    app = BlockingApp()
    tasks = await _request(RequestQueue(app), *["/v1/research"] * 3)
    await wait_for(lambda: len(app.admitted) == 3)
    app.responding.set()
    app.ending.set()
    await asyncio.gather(*tasks)


@pytest.mark.usefixtures("no_time_limit")
async def test_a_cancelled_request_admits_the_next() -> None:
    app = BlockingApp()
    first, second = await _request(RequestQueue(app), "/v1/research", "/v1/research")
    first.cancel()
    await wait_for(lambda: len(app.admitted) == 2)
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)

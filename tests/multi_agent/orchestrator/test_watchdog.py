"""A run that computes without a pause is ended, and the others go on."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from multi_agent.agents.extractor import Extractor
from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator import watchdog
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.values.answer import Status
from multi_agent.values.context import ContextUpdate, ResearchContext
from support.panel import Panel
from support.waiting import wait_for

QUESTION = "Down to which temperature does the Borea 12 work?"
BLOCKING = "Down to which temperature does the Borea 12 block?"


def watchdogs() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "watchdog"]


@pytest.fixture
def research(
    panel: Callable[..., Orchestrator], serve: Callable[..., EndpointSettings], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Researches with an Extractor that never pauses when it hears the question ``BLOCKING``."""
    process = Extractor.process

    async def blocking(self: Extractor, context: ResearchContext, task: Any) -> ContextUpdate:
        if context.question == BLOCKING:
            for _ in itertools.count():
                pass
        return await process(self, context, task)

    monkeypatch.setattr(Extractor, "process", blocking)
    return panel(serve(Panel("-25 °C"))).research


async def test_a_run_that_never_pauses_fails_and_the_others_go_on(
    research: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watchdog, "LIMIT_S", 3.0)
    blocked, other = await asyncio.gather(research(BLOCKING), research(QUESTION))
    assert blocked.status is Status.FAILED
    assert "computed for a minute without a pause" in blocked.reasoning
    assert "in blocking" in caplog.text, "the log shows where"
    assert other.status is Status.ANSWERED
    await wait_for(lambda: not watchdogs())


async def test_a_run_that_waits_without_computing_is_not_interrupted(
    research: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example on a slow machine, or after the process was frozen."""
    monkeypatch.setattr(watchdog, "LIMIT_S", 0.2)
    running = asyncio.create_task(research(QUESTION))
    await wait_for(watchdogs)
    time.sleep(1.0)  # noqa: ASYNC251 (it blocks the loop)
    assert (await running).status is Status.ANSWERED


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_loop_whose_thread_ends_before_its_runs_ends_its_watchdog(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of a thread that has ended crashes the process if it is looked up by the thread."""
    monkeypatch.setattr(watchdog, "LIMIT_S", 0.6)
    loop = asyncio.new_event_loop()

    async def run() -> None:
        with watchdog.watched():
            loop.call_soon(loop.stop)
            await asyncio.Event().wait()

    def work() -> None:
        task = loop.create_task(run())
        loop.run_forever()
        assert not task.done()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert watchdogs()
    await wait_for(lambda: not watchdogs())
    loop.close()

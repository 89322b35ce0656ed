"""A paused run resumes: the journal answers its finished calls, also those of parallel steps."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Callable

from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Status
from multi_agent.values.events import RunFinished, RunResumed
from multi_agent.values.request import Request as Question
from support.panel import (
    PLANNER,
    READING,
    REVISION,
    SYNTHESIS,
    Panel,
    give_up,
    planned,
    reading,
    role_of,
    step,
    synthesis,
)
from support.replies import Reply, Request
from support.waiting import wait_for

QUESTION = "Down to which temperature does the Borea 12 work, and how long does the bread bake?"
PARTS = {"a": "How cold?", "b": "How long to bake?", "c": "Who met?"}


async def test_parallel_steps_are_merged_in_their_first_order(
    panel: Callable[..., Orchestrator], serve: Callable[..., EndpointSettings], trace: Trace
) -> None:
    """The slowest of three Readers comes first in the plan; answered from the journal, all end at once."""
    answered: Counter[str] = Counter()
    goes_on = threading.Event()
    revising: list[Request] = []
    parts = [reading(name, asked) for name, asked in PARTS.items()]

    def model(request: Request) -> Reply | str:
        role = role_of(request)
        if role == REVISION and not goes_on.is_set():
            revising.append(request)
            return Reply(hang=True)
        answered[request.prompt] += 1
        replies = {
            PLANNER: planned(*parts, step("s", "Synthesizer")),
            SYNTHESIS: synthesis([], sufficient=False),
            REVISION: give_up(),
        }
        reply = json.dumps(replies.get(role) or usual.play(request))
        slow = role == READING and PARTS["a"] in request.prompt
        return Reply(text=reply, delay=0.4 if slow else 0.1 * (role == READING and PARTS["b"] in request.prompt))

    usual = Panel("-25 °C", "40 minutes", "Monday")
    orchestrator = panel(serve(model))
    resting = asyncio.create_task(
        orchestrator.research(Question(question=QUESTION), run_id="run_1", pausing=lambda: True)
    )
    await wait_for(lambda: revising)
    resting.cancel()
    await asyncio.wait({resting})
    assert trace.run("run_1").status == "running"

    goes_on.set()
    answer = await orchestrator.research(Question(question=QUESTION), run_id="run_1")
    assert answer.status is Status.INSUFFICIENT
    assert set(answered.values()) == {1}
    assert sum(answered.values()) == 7, "triage, planner, three readers, writer, and planner again"
    assert answer.usage.model_calls == sum(answered.values())
    events = trace.events("run_1")
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert [event.body.times for event in events if isinstance(event.body, RunResumed)] == [1]
    assert sum(isinstance(event.body, RunFinished) for event in events) == 1


async def test_items_that_were_read_are_not_read_again(
    panel: Callable[..., Orchestrator], serve: Callable[..., EndpointSettings], trace: Trace
) -> None:
    """A run over every document stops while one of them is read. The rows before it are paid for once."""
    rows: Counter[str] = Counter()
    goes_on = threading.Event()
    waiting: list[Request] = []

    def model(request: Request) -> Reply | str:
        if role_of(request) != "RowAnswers":
            return json.dumps(synthesis([], sufficient=False))
        document = re.findall(r"^The document: ([^\s,]+)", request.prompt, re.MULTILINE)[0]
        if rows and not goes_on.is_set():
            waiting.append(request)
            return Reply(hang=True)
        rows[document] += 1
        return json.dumps({"answers": [{"column": 1, "sentences": [], "values": [], "reason": "No."}]})

    orchestrator = panel(serve(model).model_copy(update={"parallel": 1}))
    asked = Question(question="What is it about?", each="document")
    resting = asyncio.create_task(orchestrator.research(asked, run_id="run_1", pausing=lambda: True))
    await wait_for(lambda: waiting)
    resting.cancel()
    await asyncio.wait({resting})
    goes_on.set()
    answer = await orchestrator.research(asked, run_id="run_1")
    assert len(rows) > 1
    assert set(rows.values()) == {1}
    assert f"{len(rows)} of {len(rows)} items have no answer" in answer.basis

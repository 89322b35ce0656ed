"""A dangerous call waits for a person, who approves, edits or refuses it; nobody in time means no."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from multi_agent.errors import ApprovalClosed, ApprovalNotFound, ToolError
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.approvals import Approval
from multi_agent.toolbox.toolbox import Toolbox
from multi_agent.values.answer import Answer, Status
from support.database import make_engine
from support.effects.effects import LOG, PACKAGE
from support.handyman import TASK, calls, handyman, report, rounds
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import advance_clock, wait_for

LAUNCH = ("launch", {"what": "rocket"})


@pytest.fixture
def tools(make_tools: Callable[..., Toolbox]) -> Toolbox:
    return make_tools(packages=(PACKAGE,))


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    """A model that wants a launch."""
    with ScriptedEndpoint(rounds(calls(LAUNCH), last=report("Reported."))) as started:
        yield started


@pytest.fixture
def make_panel(panel: Callable[..., Orchestrator], endpoint: ScriptedEndpoint) -> Callable[..., Orchestrator]:
    """``make_panel(tools, step_timeout_s=…)`` with the handyman in it."""

    def make(tools: Toolbox, **research: Any) -> Orchestrator:
        made = panel(endpoint.settings("openai"), tools=tools, **research)
        made.registry.register(handyman("launch", "stall", "note"))
        return made

    return make


async def asked_for(tools: Toolbox) -> Approval:
    """The approval that a run waits for."""
    await wait_for(tools.approvals.list)
    return tools.approvals.list()[0]


def launched(tools: Toolbox, run_id: str) -> list[str]:
    sandbox = tools.sandbox(run_id)
    return sandbox.read(LOG).decode().split() if sandbox.names() else []


def told(trace: Trace, run_id: str) -> list[Any]:
    wanted = ("tool_called", "approval_requested", "approval_decided", "tool_returned")
    return [event.body for event in trace.events(run_id) if event.body.type in wanted]


async def test_a_dangerous_call_waits_for_approval(
    make_panel: Callable[..., Orchestrator], tools: Toolbox, trace: Trace, endpoint: ScriptedEndpoint
) -> None:
    run = asyncio.create_task(make_panel(tools).research(TASK))
    waiting = await asked_for(tools)
    assert (waiting.tool, waiting.arguments, waiting.reason) == ("launch", {"what": "rocket"}, "It helps.")
    assert launched(tools, waiting.run_id) == []

    tools.approvals.decide(waiting.approval_id, "approved", by="Ada")
    answer = await run
    assert launched(tools, answer.run_id) == ["rocket"]
    called, requested, decided, returned = told(trace, answer.run_id)
    assert requested.approval_id == decided.approval_id == waiting.approval_id
    assert (decided.decision, decided.by, decided.arguments) == ("approved", "Ada", {"what": "rocket"})
    assert (returned.error, returned.key) == ("", called.key)
    assert tools.approvals.list() == []
    with pytest.raises(ApprovalClosed, match="approved, by Ada"):
        tools.approvals.decide(waiting.approval_id, "refused", by="Bob")


async def test_a_person_can_edit_the_arguments(
    make_panel: Callable[..., Orchestrator], tools: Toolbox, endpoint: ScriptedEndpoint
) -> None:
    run = asyncio.create_task(make_panel(tools).research(TASK))
    waiting = await asked_for(tools)
    for wrong in ({"what": ""}, {"who": "it"}, {"what": 3}):
        with pytest.raises(ToolError, match="The edited arguments are invalid"):
            tools.approvals.decide(waiting.approval_id, "edited", "Ada", wrong)
    tools.approvals.decide(waiting.approval_id, "edited", "Ada", {"what": "balloon"})
    answer = await run
    assert launched(tools, answer.run_id) == ["balloon"]
    assert "balloon is number 1" in endpoint.requests[1].prompt
    [entry] = tools.calls.entries(answer.run_id)
    assert entry.arguments == {"what": "balloon"}


async def test_a_refused_call_is_not_made_and_the_model_is_informed(
    make_panel: Callable[..., Orchestrator], tools: Toolbox, endpoint: ScriptedEndpoint
) -> None:
    run = asyncio.create_task(make_panel(tools).research(TASK))
    tools.approvals.decide((await asked_for(tools)).approval_id, "refused", by="Ada")
    answer = await run
    assert launched(tools, answer.run_id) == []
    assert "It failed: A person refused this call." in endpoint.requests[1].prompt
    assert "Reported." in answer.answer


async def test_nobody_in_time_means_no(
    make_panel: Callable[..., Orchestrator],
    make_tools: Callable[..., Toolbox],
    trace: Trace,
    endpoint: ScriptedEndpoint,
) -> None:
    tools = make_tools(packages=(PACKAGE,), approval_timeout_s=0.1)
    answer = await make_panel(tools).research(TASK)
    assert launched(tools, answer.run_id) == []
    assert [(body.decision, body.by) for body in told(trace, answer.run_id) if body.type == "approval_decided"] == [
        ("timed_out", "")
    ]
    assert "Nobody approved this call in time." in endpoint.requests[1].prompt


async def test_waiting_for_a_person_does_not_count_as_step_time(
    make_panel: Callable[..., Orchestrator], tools: Toolbox
) -> None:
    run = asyncio.create_task(make_panel(tools, step_timeout_s=600).research(TASK))
    waiting = await asked_for(tools)
    advance_clock(700)
    tools.approvals.decide(waiting.approval_id, "approved", by="Ada")
    answer = await run
    assert "Reported." in answer.answer
    assert launched(tools, answer.run_id) == ["rocket"]


async def test_a_cancelled_run_closes_its_approvals(make_panel: Callable[..., Orchestrator], tools: Toolbox) -> None:
    run = asyncio.create_task(make_panel(tools).research(TASK))
    waiting = await asked_for(tools)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert tools.approvals.list() == []
    with pytest.raises(ApprovalClosed, match="it is closed"):
        tools.approvals.decide(waiting.approval_id, "approved", by="Ada")
    with pytest.raises(ApprovalNotFound):
        tools.approvals.decide("none", "approved", by="Ada")


async def resumed(before: Orchestrator, run_id: str, endpoint: ScriptedEndpoint, folder: Path) -> Answer:
    """The run made again from its journal, as far as that goes, and with the model from there on."""
    engine = make_engine(folder / "again.db")
    trace = Trace(engine)
    for entry in before.trace.journal_entries(run_id):
        trace.journal(run_id).record(entry)
    return await replace(before, trace=trace).research(TASK, run_id=run_id)


async def test_a_resumed_run_waits_again_for_open_approvals(
    make_panel: Callable[..., Orchestrator], tools: Toolbox, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    panel = make_panel(tools)
    run = asyncio.create_task(panel.research(TASK, run_id="run_1"))
    first = await asked_for(tools)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)

    again = asyncio.create_task(resumed(panel, "run_1", endpoint, tmp_path))
    second = await asked_for(tools)
    assert second.approval_id == first.approval_id
    tools.approvals.decide(second.approval_id, "approved", by="Ada")
    assert "Reported." in (await again).answer
    assert launched(tools, "run_1") == ["rocket"]
    assert len(endpoint.requests) == 3, "no model call was made twice"


async def test_what_was_decided_stays_decided(
    make_panel: Callable[..., Orchestrator], tools: Toolbox, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    """Killed after the person had decided, and before the run had seen it."""
    panel = make_panel(tools)
    run = asyncio.create_task(panel.research(TASK, run_id="run_1"))
    first = await asked_for(tools)
    tools.approvals.decide(first.approval_id, "approved", by="Ada")
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    assert launched(tools, "run_1") == []
    await resumed(panel, "run_1", endpoint, tmp_path)
    assert launched(tools, "run_1") == ["rocket"]


async def test_an_interrupted_dangerous_call_is_not_repeated(
    panel: Callable[..., Orchestrator], tools: Toolbox, tmp_path: Path
) -> None:
    with ScriptedEndpoint(rounds(calls(("stall", {"what": "rocket"})), last=report("Unknown."))) as endpoint:
        made = panel(endpoint.settings("openai"), tools=tools)
        made.registry.register(handyman("stall"))
        run = asyncio.create_task(made.research(TASK, run_id="run_1"))
        tools.approvals.decide((await asked_for(tools)).approval_id, "approved", by="Ada")
        await wait_for(lambda: launched(tools, "run_1"))
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        await resumed(made, "run_1", endpoint, tmp_path)
    assert "nobody knows what became of it" in endpoint.requests[1].prompt
    assert launched(tools, "run_1") == ["rocket"]


async def test_a_slow_call_times_out(panel: Callable[..., Orchestrator], make_tools: Callable[..., Toolbox]) -> None:
    tools = make_tools(packages=(PACKAGE,), timeout_s=0.1)
    with ScriptedEndpoint(rounds(calls(("stall", {"what": "rocket"})), last=report("Late."))) as endpoint:
        made = panel(endpoint.settings("openai"), tools=tools)
        made.registry.register(handyman("stall"))
        run = asyncio.create_task(made.research(TASK))
        tools.approvals.decide((await asked_for(tools)).approval_id, "approved", by="Ada")
        await run
    assert "It took longer than 0.1 s (`tools.timeout_s`)." in endpoint.requests[1].prompt


async def test_a_store_error_ends_the_run_without_waiting(panel: Callable[..., Orchestrator], tools: Toolbox) -> None:
    with ScriptedEndpoint(rounds(calls(LAUNCH, ("lose", {"what": "papers"})), last=report("."))) as endpoint:
        made = panel(endpoint.settings("openai"), tools=tools)
        made.registry.register(handyman("launch", "lose"))
        answer = await made.research(TASK)
    assert answer.status is Status.FAILED
    assert "papers" in answer.reasoning
    assert tools.approvals.list() == []

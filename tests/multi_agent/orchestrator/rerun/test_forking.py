"""A fork takes what came before its step from the journal, and runs live from there, with a change."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from multi_agent.answer import Status
from multi_agent.errors import AgentError, UnknownModel
from multi_agent.events import ModelCalled, PlanMade
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.orchestrator.rerun.replay import replay
from multi_agent.request import Fork
from multi_agent.request import Request as Question
from multi_agent.storage.recording import load_recording
from multi_agent.storage.trace import Trace
from support.panel import PLANNER, SYNTHESIS, Panel, planned, reading, role_of, step, synthesis
from support.scripted_endpoint import ScriptedEndpoint

QUESTION = "Down to which temperature does the Borea 12 work?"
MakePanel = Callable[..., Orchestrator]


def calls(trace: Trace, run_id: str) -> list[tuple[str, str, bool]]:
    """Return the step, the model and whether the journal answered, for each model call."""
    events = [event for event in trace.events(run_id) if isinstance(event.body, ModelCalled)]
    return [(event.step, event.body.model, event.body.replayed) for event in events]


async def test_only_the_step_and_later_ones_ask_the_model(panel: MakePanel, trace: Trace) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        live = panel(server.settings("openai"))
        origin = await live.research(QUESTION)
        asked = len(server.requests)
        fork = Fork(run_id=origin.run_id, step="extract", instruction="Take every figure.")
        answer = await live.research(Question(question=QUESTION, fork=fork))
        again = server.requests[asked:]
    assert [role_of(request) for request in again] == ["Extraction", "WrittenAnswer"]
    assert "Take every figure." in again[0].prompt
    assert answer.status is Status.ANSWERED
    assert answer.usage.model_calls == 2, "copied calls cost nothing"
    assert [(at, replayed) for at, _, replayed in calls(trace, answer.run_id)] == [
        ("", True), ("", True), ("queries", True), ("look", True), ("patterns", True), ("extract", False),
        ("answer", False),
    ]  # fmt: skip
    run = trace.run(answer.run_id)
    assert (run.forked_from, run.forked_at) == (origin.run_id, "extract")
    [made] = [event.body.plan for event in trace.events(answer.run_id) if isinstance(event.body, PlanMade)]
    assert [each.instruction for each in made.steps if each.id == "extract"] == ["Take every figure."]
    assert trace.answer(origin.run_id) == origin, "the run itself stays as it is"


async def test_the_step_asks_another_model(panel: MakePanel, trace: Trace) -> None:
    def writes(_: object) -> str:
        return json.dumps(synthesis([{"text": "By the large one: -25 °C.", "evidence": [1]}], sufficient=True))

    with ScriptedEndpoint(Panel("-25 °C")) as small, ScriptedEndpoint(Panel(roles={SYNTHESIS: writes})) as large:
        big = large.settings("openai").model_copy(update={"model": "big"})
        live = panel(small.settings("openai"), llms={"large": big})
        origin = await live.research(QUESTION)
        fork = Fork(run_id=origin.run_id, step="answer", model="large")
        answer = await live.research(Question(question=QUESTION, fork=fork))
        assert [role_of(request) for request in large.requests] == [SYNTHESIS]
        with pytest.raises(UnknownModel):
            await live.research(Question(question=QUESTION, fork=fork.model_copy(update={"model": "none"})))
    assert answer.answer == "By the large one: -25 °C. [1]"
    assert calls(trace, answer.run_id)[-1] == ("answer", "big", False)
    result = await replay(replace(live), load_recording(trace, live.tools.calls, answer.run_id))
    assert result.same, "a fork is replayed, too"


async def test_inputs_of_the_step_are_replaced(panel: MakePanel, trace: Trace) -> None:
    parts = [reading("cold", "How cold?"), reading("bake", "How long?"), step("s", "Synthesizer")]
    roles = {PLANNER: lambda _: json.dumps(planned(*parts))}
    with ScriptedEndpoint(Panel("-25 °C", "40 minutes", roles=roles)) as server:
        live = panel(server.settings("openai"))
        origin = await live.research(QUESTION)
        asked = len(server.requests)
        fork = Fork(run_id=origin.run_id, step="bake", inputs={"question": "At what heat?"})
        answer = await live.research(Question(question=QUESTION, fork=fork))
        again = server.requests[asked:]
    assert [role_of(request) for request in again] == ["ReaderAnswer", "WrittenAnswer"]
    assert "At what heat?" in again[0].prompt
    assert answer.usage.model_calls == 2


async def test_an_unknown_step_is_refused_with_those_that_exist(panel: MakePanel, trace: Trace) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        live = panel(server.settings("openai"))
        origin = await live.research(QUESTION)
        with pytest.raises(AgentError, match=r"not reached a step 'none'. Its steps: queries, find, look"):
            await live.research(Question(question=QUESTION, fork=Fork(run_id=origin.run_id, step="none")))
    assert len(trace.runs()) == 1

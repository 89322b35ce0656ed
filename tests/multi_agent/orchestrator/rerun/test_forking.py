"""A fork takes what came before its step from the journal, and runs live from there, with a change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from multi_agent.errors import AgentError, PlanError, UnknownModel
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.orchestrator.rerun.forking import fork_options
from multi_agent.orchestrator.rerun.replay import replay
from multi_agent.storage.recording import RunArchive, load_recording
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Status
from multi_agent.values.events import ModelCalled, PlanMade, StepFinished
from multi_agent.values.plan import Step
from multi_agent.values.request import Fork
from multi_agent.values.request import Request as Question
from support.database import make_engine
from support.panel import EXTRACTION, INSPECTION, PLANNER, SYNTHESIS, Panel, planned, reading, role_of, step, synthesis
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import wait_for

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
    assert answer.answer == "By the large one: -25 °C. [1] [not checked]"
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


async def test_the_agent_of_the_step_gets_another_prompt(panel: MakePanel, trace: Trace) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        live = panel(server.settings("openai"))
        origin = await live.research(QUESTION)
        options = fork_options(trace, live.registry, origin.run_id, "answer")
        text = options.prompts["Synthesizer"].replace("# User\n", "# User\nAnswer in German.\n", 1)
        asked = len(server.requests)
        fork = Fork(run_id=origin.run_id, step="answer", prompts={"Synthesizer": text})
        answer = await live.research(Question(question=QUESTION, fork=fork))
        [again] = server.requests[asked:]
        assert "Answer in German." in again.prompt
        assert answer.usage.model_calls == 1
        assert (await replay(live, load_recording(trace, live.tools.calls, answer.run_id))).same

        wrong = fork.model_copy(update={"prompts": {"Synthesizer": "# System\nAnswer.\n# User\n$quest\n"}})
        with pytest.raises(AgentError, match=r"must use the placeholders \$computations.*Unknown: \$quest\."):
            await live.research(Question(question=QUESTION, fork=wrong))
        wrong = fork.model_copy(update={"prompts": {"Planner": text}})
        with pytest.raises(AgentError, match=r"no agent 'Planner' with a prompt. Its agents with a prompt: Synth"):
            await live.research(Question(question=QUESTION, fork=wrong))


async def test_the_step_and_later_ones_use_only_the_admitted_evidence(panel: MakePanel, trace: Trace) -> None:
    with ScriptedEndpoint(Panel("-25 °C", "-22 °C")) as server:
        live = panel(server.settings("openai"))
        origin = await live.research(QUESTION)
        known = fork_options(trace, live.registry, origin.run_id, "answer").evidence
        assert [each.number for each in known] == [1, 2]
        assert {each.quote for each in known} == {each.quote for each in origin.evidence}
        asked = len(server.requests)
        fork = Fork(run_id=origin.run_id, step="answer", evidence=(2,))
        answer = await live.research(Question(question=QUESTION, fork=fork))
        [again] = server.requests[asked:]
        assert [each.quote for each in answer.evidence] == [known[1].quote]
        assert known[0].quote not in again.prompt
        assert (await replay(live, load_recording(trace, live.tools.calls, answer.run_id))).same
        wrong = fork.model_copy(update={"evidence": (2, 7)})
        with pytest.raises(AgentError, match=r"Step 'answer' has no evidence 7. Its evidence: 1, 2\."):
            await live.research(Question(question=QUESTION, fork=wrong))


async def test_another_plan_runs_from_the_step(panel: MakePanel, trace: Trace) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        live = panel(server.settings("openai"))
        origin = await live.research(QUESTION)
        plan = fork_options(trace, live.registry, origin.run_id, "look").plan
        before, (patterns, extract, answering) = plan.steps[:3], plan.steps[3:]
        shorter = plan.model_copy(
            update={"steps": (*before, extract.model_copy(update={"needs": patterns.needs}), answering)}
        )
        asked = len(server.requests)
        fork = Fork(run_id=origin.run_id, step="look", plan=shorter)
        answer = await live.research(Question(question=QUESTION, fork=fork))
        assert [role_of(each) for each in server.requests[asked:]] == [INSPECTION, EXTRACTION, SYNTHESIS]
        assert answer.status is Status.ANSWERED
        [made] = [event.body.plan for event in trace.events(answer.run_id) if isinstance(event.body, PlanMade)]
        assert made == shorter
        assert (await replay(live, load_recording(trace, live.tools.calls, answer.run_id))).same

        async def refused(steps: Sequence[Step], reason: str) -> None:
            changed = fork.model_copy(update={"plan": plan.model_copy(update={"steps": tuple(steps)})})
            with pytest.raises(PlanError, match=reason):
                await live.research(Question(question=QUESTION, fork=changed))

        reworded = before[0].model_copy(update={"instruction": "Something else."})
        await refused((reworded, *plan.steps[1:]), "drops or changes queries, which ran before 'look'")
        unknown = answering.model_copy(update={"agents": ("Poet",)})
        await refused((*plan.steps[:-1], unknown), "there is no agent 'Poet'; choose from Analyst")
    assert len(trace.runs()) == 2, "a refused fork starts no run"


async def test_a_fork_whose_origin_was_deleted_is_resumed(panel: MakePanel, trace: Trace, tmp_path: Path) -> None:
    archive = RunArchive(make_engine(tmp_path / "trace.db"))
    hangs = [True]
    usual = Panel("-25 °C")

    def write(request: Request) -> Reply | str:
        if "Be brief." in request.prompt and hangs:
            return Reply(hang=True)
        return json.dumps(usual.play(request))

    with ScriptedEndpoint(Panel("-25 °C", roles={SYNTHESIS: write})) as server:
        live = panel(server.settings("openai"))
        origin = await live.research(QUESTION)
        fork = Fork(run_id=origin.run_id, step="answer", instruction="Be brief.")
        question, asked = Question(question=QUESTION, fork=fork), len(server.requests)
        run = asyncio.create_task(live.research(question, run_id="run_fork", pausing=lambda: True))
        await wait_for(lambda: len(server.requests) > asked)
        run.cancel()
        await asyncio.wait({run})
        archive.delete([origin.run_id])
        hangs.clear()
        answer = await live.research(question, run_id="run_fork")
    assert answer.status is Status.ANSWERED


async def test_evidence_that_cannot_be_read_is_refused(
    panel: MakePanel, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An imported run may have any content."""
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        live = panel(server.settings("openai"))
        origin = await live.research(QUESTION)
    events = [
        event.model_copy(update={"body": event.body.model_copy(update={"wrote": {"evidence": [{"quote": 1}]}})})
        if isinstance(event.body, StepFinished)
        else event
        for event in trace.events(origin.run_id)
    ]
    monkeypatch.setattr(trace, "events", lambda _: events)
    with pytest.raises(AgentError, match="evidence of step 'queries' cannot be read"):
        fork_options(trace, live.registry, origin.run_id, "answer")

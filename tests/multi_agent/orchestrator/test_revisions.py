"""Runs that the first plan does not answer: revisions, budgets and failures."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.settings.research import Budget
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Status
from multi_agent.values.events import Event
from multi_agent.values.request import Request as Asked
from support import replies
from support.panel import (
    EXPLANATION,
    EXTRACTION,
    PLANNER,
    READING,
    REVISION,
    SYNTHESIS,
    TRIAGE,
    Panel,
    fast,
    plan,
    planned,
    reading,
    revised,
    role_of,
    step,
    synthesis,
)
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import wait_for

QUESTION = "Down to which temperature does the Borea 12 work?"
MakePanel = Callable[..., Orchestrator]
Serve = Callable[..., EndpointSettings]
SCAN = {"method": "scan", "documents": ["manual.pdf"], "queries": []}
ANOTHER_WAY = revised(step("all", "Retriever", inputs=SCAN), step("quotes", "Extractor"), step("end", "Synthesizer"))


def bodies(trace: Trace, run_id: str, wanted: str) -> list[Any]:
    return [event.body for event in trace.events(run_id) if event.body.type == wanted]


def answering_in_the_end(after: int) -> Callable[[Request], str]:
    """A Synthesizer that judges the evidence insufficient this many times."""
    panel, times = Panel("-25 °C"), [0]

    def write(request: Request) -> str:
        times[0] += 1
        if times[0] <= after:
            return json.dumps(synthesis([], sufficient=False))
        return json.dumps(panel.play(request))

    return write


async def test_missing_evidence_leads_to_a_revised_plan(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    asked: list[str] = []

    def revise(request: Request) -> str:
        asked.append(request.prompt)
        return json.dumps(ANOTHER_WAY)

    script = Panel("-25 °C", roles={SYNTHESIS: answering_in_the_end(1), REVISION: revise})
    answer = await panel(serve(script)).research(QUESTION)

    assert answer.status is Status.ANSWERED
    assert answer.summary.attempts == 2
    assert "does not answer" not in answer.reasoning  # of the attempt that was rejected
    [shown] = asked
    for known in ("Attempt 1", "find (Retriever)", "Missing: the fact", "Judged: What was read", "- the fact\n"):
        assert known in shown, known
    assert "manual.pdf: “The Borea 12 works down to -25 °C.” what was looked for" in shown  # a key finding
    first, second = bodies(trace, answer.run_id, "attempt_ended")
    assert (first.attempt.missing, second.attempt.missing) == (("the fact",), ())
    [revision] = bodies(trace, answer.run_id, "plan_revised")
    assert (revision.attempt, revision.diagnosis) == (2, "The wrong words.")


async def test_a_failed_step_leads_to_a_plan_that_knows_the_error(panel: MakePanel, serve: Serve) -> None:
    asked: list[str] = []

    def revise(request: Request) -> str:
        asked.append(request.prompt)
        return json.dumps(ANOTHER_WAY)

    everything = {"method": "scan", "documents": [], "queries": []}
    too_much = planned(step("all", "Retriever", inputs=everything), step("x", "Extractor"), step("s", "Synthesizer"))
    script = Panel("-25 °C", roles={PLANNER: replies.always(json.dumps(too_much)), REVISION: revise})
    answer = await panel(serve(script), scan_limit=2).research(QUESTION)

    assert answer.status is Status.ANSWERED
    summary = answer.summary
    assert (summary.attempts, summary.steps_failed, summary.steps_skipped) == (2, 1, 2), "x and s never started"
    assert "Step 'all' (Retriever) failed" in asked[0]
    assert "research.scan_limit" in asked[0]
    assert "Step 'x' (Extractor) failed: It needs all, which failed." in asked[0]


async def test_results_of_steps_parallel_to_a_failed_one_are_kept(panel: MakePanel, serve: Serve) -> None:
    everything = {"method": "scan", "documents": [], "queries": []}
    side_by_side = planned(
        step("all", "Retriever", inputs=everything),
        reading("part", "What does the manual say?"),
        step("s", "Synthesizer"),
    )
    script = Panel("-25 °C", roles={PLANNER: replies.always(json.dumps(side_by_side))})
    answer = await panel(serve(script), scan_limit=2).research(QUESTION)
    assert answer.status is Status.FAILED
    assert answer.summary.quotes == 1
    assert answer.on_the_way[0].answer == "It says so: The Borea 12 works down to -25 °C."


async def test_after_the_last_revision_the_answer_is_insufficient(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    ways = iter(("one", "another", "a third"))

    def revise(_: Request) -> str:
        inputs = {"method": "search", "documents": [], "queries": [next(ways)]}
        return json.dumps(
            revised(step("f", "Retriever", inputs=inputs), step("x", "Extractor"), step("s", "Synthesizer"))
        )

    script = Panel("no passage has this", roles={REVISION: revise})
    answer = await panel(serve(script), max_revisions=2).research(QUESTION)
    assert answer.status is Status.INSUFFICIENT
    assert answer.summary.attempts == 3
    assert answer.missing == ("the fact",)
    assert len(bodies(trace, answer.run_id, "plan_revised")) == 2


async def test_a_revision_equal_to_an_earlier_plan_ends_the_run(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    steps = (
        step("a", "Retriever", inputs={"method": "search", "documents": [], "queries": []}),
        step("b", "Extractor"),
        step("c", "Synthesizer"),
    )
    renamed = (
        step("x", "Retriever", inputs={"method": "search", "documents": [], "queries": []}),
        step("y", "Extractor"),
        step("z", "Synthesizer"),
    )
    roles = {PLANNER: lambda _: json.dumps(planned(*steps)), REVISION: lambda _: json.dumps(revised(*renamed))}
    answer = await panel(serve(Panel("no passage has this", roles=roles))).research(QUESTION)
    assert answer.status is Status.INSUFFICIENT
    assert answer.summary.attempts == 1
    [declined] = bodies(trace, answer.run_id, "revision_declined")
    assert "tries nothing that was not tried" in declined.reason


async def test_a_revision_that_does_not_fit_keeps_the_answer(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    long = " ".join(f"no JSON {at}" for at in range(9000))  # a correction repeats it
    near = {"text": "The Borea 8 works down to -20 °C.", "evidence": []}
    roles = {SYNTHESIS: lambda _: json.dumps(synthesis([near], sufficient=False)), REVISION: lambda _: long}
    answer = await panel(serve(Panel("-25 °C", roles=roles))).research(QUESTION)
    assert (answer.status, answer.summary.attempts) == (Status.INSUFFICIENT, 1)
    assert [claim.text for claim in answer.claims] == [near["text"]]
    [declined] = bodies(trace, answer.run_id, "revision_declined")
    assert "exceed the context window" in declined.reason


async def test_the_model_may_decline_a_revision(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    answer = await panel(serve(Panel("no passage has this"))).research(QUESTION)
    assert (answer.status, answer.summary.attempts) == (Status.INSUFFICIENT, 1)
    [declined] = bodies(trace, answer.run_id, "revision_declined")
    assert declined.reason == "It is not there."


async def test_the_model_explains_a_failed_run(panel: MakePanel, serve: Serve) -> None:
    asked: list[str] = []

    def explain(request: Request) -> str:
        asked.append(request.prompt)
        return json.dumps({"explanation": "The scan was too large; ask about fewer documents."})

    everything = plan(("all", "Retriever"), ("x", "Extractor"), ("s", "Synthesizer"), method="scan")
    script = Panel(roles={PLANNER: replies.always(json.dumps(everything)), EXPLANATION: explain})
    answer = await panel(serve(script), scan_limit=2).research(QUESTION)
    assert answer.status is Status.FAILED
    assert answer.reasoning.startswith("The scan was too large; ask about fewer documents. The error itself: ")
    assert "research.scan_limit" in answer.reasoning
    assert "Step 'all' (Retriever) failed" in asked[0]


async def test_a_budget_reached_in_extraction_gives_the_quotes_so_far(
    panel: MakePanel, serve: Serve, trace: Trace
) -> None:
    scan = plan(("all", "Retriever"), ("x", "Extractor"), ("s", "Synthesizer"), method="scan")
    script = Panel("°C", roles={PLANNER: replies.always(json.dumps(scan))})
    request = Asked(question=QUESTION, budget=Budget(model_calls=4))
    answer = await panel(serve(script), passages_per_call=1).research(request)

    assert answer.status is Status.INSUFFICIENT
    assert "model calls" in answer.reasoning
    assert "research.budget.model_calls" in answer.reasoning
    assert answer.usage.model_calls == 4
    assert len(answer.evidence) == 2  # of three passages, one call each, after those for triage and plan
    assert all(claim.supported for claim in answer.claims)
    assert answer.answer.count("what was looked for [") == 2
    assert trace.run(answer.run_id).status == "insufficient"


async def test_a_budget_reached_by_the_plan_gives_nothing(panel: MakePanel, serve: Serve) -> None:
    request = Asked(question=QUESTION, budget=Budget(tokens=10))
    answer = await panel(serve(Panel())).research(request)
    assert (answer.status, answer.claims, answer.usage.model_calls) == (Status.INSUFFICIENT, (), 0)


async def test_a_retried_step_pays_for_no_call_twice(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    scan = plan(("all", "Retriever"), ("x", "Extractor"), ("s", "Synthesizer"), method="scan")
    script, broken = Panel("°C"), ["once"]
    others_ended = threading.Event()  # a failure cancels calls in progress, and they are sent again
    asked: list[str] = []

    def extract(request: Request) -> Reply | str:
        if "recipe.md" in request.prompt and broken:
            broken.clear()
            return replies.held_until(others_ended, replies.server_error())
        asked.append(request.messages[-1]["content"])
        return json.dumps(script.play(request))

    script_with_fault = Panel("°C", roles={PLANNER: replies.always(json.dumps(scan)), EXTRACTION: extract})
    orchestrator = panel(serve(script_with_fault, retries=0), passages_per_call=1)
    run = asyncio.create_task(orchestrator.research(QUESTION, run_id="run_1"))
    await wait_for(lambda: sum(call.caller == "Extractor" for call in trace.journal_entries("run_1")) == 2)
    others_ended.set()
    answer = await run
    assert (answer.status, len(answer.evidence)) == (Status.ANSWERED, 3)
    assert len(bodies(trace, answer.run_id, "step_retried")) == 1
    assert len(set(asked)) == len(asked) == 3


async def test_independent_steps_run_in_parallel(panel: MakePanel) -> None:
    """Only one of two independent steps waits for a slow response."""
    parts = planned(
        reading("one", "What about winter?"),
        reading("two", "What about eggs?"),
        step("s", "Synthesizer"),
    )
    script = Panel("°C", roles={PLANNER: lambda _: json.dumps(parts)})
    together = replies.held_until_together(2, script)

    def respond(request: Request) -> Reply | str:
        return together(request) if role_of(request) == READING else script(request)

    with ScriptedEndpoint(respond) as server:
        answer = await panel(server.settings("openai")).research("What about winter, and what about eggs?")
        assert answer.status is Status.ANSWERED
        assert server.peak == 2
        assert [role_of(request) for request in server.requests].count("ReaderAnswer") == 2


async def test_every_attempt_is_in_the_trace(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    heard: list[Event] = []

    async def listen(event: Event) -> None:
        heard.append(event)

    script = Panel("-25 °C", roles={SYNTHESIS: answering_in_the_end(1), REVISION: lambda _: json.dumps(ANOTHER_WAY)})
    answer = await panel(serve(script)).research(QUESTION, listen)
    order = [event.body.type for event in heard if "attempt" in event.body.type or "plan" in event.body.type]
    assert order == ["plan_made", "attempt_ended", "plan_revised", "attempt_ended"]
    assert trace.events(answer.run_id) == heard


@pytest.mark.parametrize("mode", ["fast", "direct"])
async def test_modes_fast_and_direct_are_not_revised(panel: MakePanel, serve: Serve, mode: str) -> None:
    script = Panel("no passage has this")
    request = Asked(question=QUESTION, mode=mode, agent="Reader" if mode == "direct" else "")
    answer = await panel(serve(script)).research(request)
    assert (answer.status, answer.summary.attempts) == (Status.INSUFFICIENT, 1)
    assert answer.usage.model_calls == (1 if mode == "direct" else 2)


@pytest.mark.parametrize(
    "said",
    [
        {"off_topic": True, "search": ["pump limits"]},
        {"ask_back": {"question": "Which one?", "candidates": []}},
    ],
    ids=["off topic", "unnamed"],
)
async def test_no_other_plan_is_asked_for_where_none_can_help(
    panel: MakePanel, serve: Serve, trace: Trace, said: dict[str, Any]
) -> None:
    roles: list[str] = []

    def read(request: Request) -> str:
        return json.dumps({**synthesis([], sufficient=False), **said})

    def play(request: Request) -> Reply | str:
        roles.append(role_of(request))
        return Panel(roles={TRIAGE: fast, READING: read})(request)

    answer = await panel(serve(play)).research(QUESTION)
    assert answer.status is Status.INSUFFICIENT
    assert REVISION not in roles
    assert len(bodies(trace, answer.run_id, "revision_declined")) == 1


async def test_another_plan_is_asked_for_if_something_came_close(panel: MakePanel, serve: Serve) -> None:
    roles: list[str] = []

    def play(request: Request) -> Reply | str:
        roles.append(role_of(request))
        missing = json.dumps(synthesis([], sufficient=False))
        return Panel(roles={TRIAGE: fast, READING: lambda _: missing})(request)

    await panel(serve(play)).research(QUESTION)
    assert roles[-1] == REVISION

"""Drafted claims in a run's events: before the last model call ends, and only for the final answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Status
from multi_agent.values.events import Event
from multi_agent.values.evidence_events import ClaimDrafted
from multi_agent.values.request import Request as Asked
from support.panel import PLANNER, READING, SYNTHESIS, TRIAGE, Panel, fast, planned, reading, step, synthesis
from support.replies import PROTOCOLS, Protocol, Reply, Request, in_pieces, say

MakePanel = Callable[..., Orchestrator]
Serve = Callable[..., EndpointSettings]
QUESTION = "Down to which temperature does the Borea 12 work, and how long does the bread bake?"
SCRIPT = Panel("-25 °C", "40 minutes")


def in_parts(role: str, **more: Any) -> Panel:
    """The panel with one role that streams its response in small parts."""
    roles = {role: lambda request: in_pieces(json.dumps(SCRIPT.play(request)), **more)}
    return Panel("-25 °C", "40 minutes", roles=roles)


def bodies(trace: Trace, run_id: str, wanted: str) -> list[Any]:
    return [event.body for event in trace.events(run_id) if event.body.type == wanted]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_claims_are_drafted_before_the_call_ends(
    panel: MakePanel, serve: Serve, trace: Trace, protocol: Protocol
) -> None:
    answer = await panel(serve(in_parts(SYNTHESIS), protocol)).research(QUESTION)
    drafted = bodies(trace, answer.run_id, "claim_drafted")
    assert len(drafted) == 2
    assert tuple(body.claim for body in drafted) == answer.claims
    assert [item.quote for body in drafted for item in body.evidence] == [quote.quote for quote in answer.cited]
    last = [event for event in trace.events(answer.run_id) if event.step == "answer"]
    assert [event.body.type for event in last] == [
        "step_started", "model_asked", "claim_drafted", "claim_drafted", "model_called", "step_finished",
        "reasoning_shared",
    ]  # fmt: skip


async def test_the_first_claim_is_published_while_the_rest_is_written(panel: MakePanel, serve: Serve) -> None:
    drafts: asyncio.Queue[ClaimDrafted] = asyncio.Queue()

    async def listen(event: Event) -> None:
        if isinstance(event.body, ClaimDrafted):
            await drafts.put(event.body)

    stuck = in_parts(SYNTHESIS, keep=0.5, ending="silent")
    run = asyncio.create_task(panel(serve(stuck)).research(Asked(question=QUESTION), listen))
    async with asyncio.timeout(60):
        first = await drafts.get()
    assert "-25 °C" in first.claim.text
    assert first.evidence[0].quote == "The Borea 12 works down to -25 °C."
    assert drafts.empty()
    run.cancel()
    await asyncio.wait({run})


async def test_the_reader_of_a_simple_question_drafts_its_claims(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    script = Panel(roles={TRIAGE: fast, READING: in_parts(READING)})
    answer = await panel(serve(script)).research(QUESTION)
    drafted = bodies(trace, answer.run_id, "claim_drafted")
    assert [body.claim.text for body in drafted] == [claim.text for claim in answer.claims]
    assert len(drafted) == 2


async def test_a_rejected_response_withdraws_its_claims(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    def write_wrongly(request: Request) -> Reply:
        answer = SCRIPT.play(request)
        answer["claims"][1]["text"] = ""
        return in_pieces(json.dumps(answer))

    tries = iter([write_wrongly, in_parts(SYNTHESIS)])
    script = Panel("-25 °C", "40 minutes", roles={SYNTHESIS: lambda request: next(tries)(request)})
    answer = await panel(serve(script)).research(QUESTION)
    types = [event.body.type for event in trace.events(answer.run_id) if event.step == "answer"]
    drafts = [each for each in types if each in ("claim_drafted", "draft_withdrawn")]
    assert drafts == ["claim_drafted", "draft_withdrawn", "claim_drafted", "claim_drafted"]
    assert [body.claims for body in bodies(trace, answer.run_id, "draft_withdrawn")] == [1]
    assert answer.status is Status.ANSWERED


async def test_intermediate_answers_are_not_drafted(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    hops = planned(reading("a", "How cold?"), reading("b", "How long?"), step("s", "Synthesizer"))
    script = Panel("-25 °C", "40 minutes", roles={PLANNER: lambda _: json.dumps(hops)})
    answer = await panel(serve(script)).research(QUESTION)
    assert {event.step for event in trace.events(answer.run_id) if event.body.type == "claim_drafted"} == {"s"}


async def test_voted_answers_are_not_drafted(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    claims = [{"text": "Down to -25 °C.", "evidence": [1]}]
    write = json.dumps(synthesis(claims, sufficient=True, short="-25 °C"))
    script = Panel("-25 °C", roles={SYNTHESIS: lambda _: say(write)})
    answer = await panel(serve(script)).research(Asked(question=QUESTION, samples=2))
    assert answer.status is Status.ANSWERED
    assert bodies(trace, answer.run_id, "claim_drafted") == []


async def test_without_streaming_the_answer_is_the_same_without_drafts(
    panel: MakePanel, serve: Serve, trace: Trace
) -> None:
    streamed = await panel(serve(in_parts(SYNTHESIS))).research(QUESTION)
    whole = await panel(serve(SCRIPT, stream=False)).research(QUESTION)
    assert whole.claims == streamed.claims
    assert bodies(trace, whole.run_id, "claim_drafted") == []


async def test_a_resumed_run_answers_from_its_journal_without_drafts(
    panel: MakePanel, serve: Serve, trace: Trace
) -> None:
    """The run is interrupted right after its last call."""
    asked: list[Request] = []

    def respond(request: Request) -> Reply | str:
        asked.append(request)
        return script(request)

    async def end(event: Event) -> None:
        if event.step == "answer" and event.body.type == "step_finished" and not ended:
            ended.append(event)
            resting.cancel()

    ended: list[Event] = []
    script = in_parts(SYNTHESIS)
    orchestrator = panel(serve(respond))
    question = Asked(question=QUESTION, mode="high")
    resting = asyncio.create_task(orchestrator.research(question, end, run_id="run_1", pausing=lambda: True))
    await asyncio.wait({resting})
    calls = len(asked)
    answer = await orchestrator.research(question, run_id="run_1")
    assert (answer.status, len(asked)) == (Status.ANSWERED, calls)
    drafted = [event.number for event in trace.events("run_1") if event.body.type == "claim_drafted"]
    assert len(drafted) == 2
    assert max(drafted) < ended[0].number

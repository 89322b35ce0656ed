"""Runs from question to terminal state, over real HTTP, a real store and the real embedding model."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable

import pytest

from multi_agent.errors import AgentError
from multi_agent.llm.models import Models
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.wrappers.replay import ReplayingLLM
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Status
from multi_agent.values.events import Event
from multi_agent.values.request import Request as Asked
from support import replies
from support.panel import EXTRACTION, PLANNER, SYNTHESIS, Panel, plan, role_of, synthesis
from support.replies import Request
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S, advance_clock, wait_for

QUESTION = "Down to which temperature does the Borea 12 work?"
MakePanel = Callable[..., Orchestrator]
Serve = Callable[..., EndpointSettings]


def types(events: list[Event]) -> list[str]:
    return [event.body.type for event in events]


def of_type(events: list[Event], wanted: str) -> list[Event]:
    return [event for event in events if event.body.type == wanted]


@pytest.mark.parametrize("protocol", ["openai", "ollama"])
async def test_an_answer_cites_verbatim_quotes(panel: MakePanel, serve: Serve, protocol: str) -> None:
    answer = await panel(serve(Panel("-25 °C"), protocol)).research(QUESTION)

    assert answer.status is Status.ANSWERED
    assert answer.answer == "It says so: manual.pdf, page 7: The Borea 12 works down to -25 °C. [1] [not checked]"
    [quote] = answer.evidence
    assert (quote.document, quote.pages, quote.quote) == (
        "manual.pdf",
        (7,),
        "The Borea 12 works down to -25 °C.",
    )
    assert (answer.claims[0].stands, answer.claims[0].verdict) == (True, "not_checked"), "no quote has the word 'says'"
    assert answer.coverage.documents_total == answer.coverage.chunks_total == 3
    assert answer.coverage.chunks_considered == 3
    assert answer.usage.model_calls == 7
    assert answer.usage.prompt_tokens == 700


async def test_events_are_numbered_published_and_stored(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    heard: list[Event] = []

    async def listen(event: Event) -> None:
        heard.append(event)

    answer = await panel(serve(Panel("-25 °C"))).research(QUESTION, listen)

    kept = trace.events(answer.run_id)
    assert kept == heard
    assert [event.number for event in kept] == list(range(1, len(kept) + 1))
    assert types(kept)[0] == "run_started"
    assert types(kept)[-1] == "run_finished"
    assert [event.body.agent for event in of_type(kept, "reasoning_shared")] == [
        "QueryPlanner",
        "Retriever",
        "DataInspector",
        "PatternGenerator",
        "Extractor",
        "Synthesizer",
    ]
    assert trace.answer(answer.run_id) == answer
    assert [run.status for run in trace.runs()] == ["answered"]


async def test_passages_are_found_before_the_first_model_call(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    live = panel(serve(Panel("-25 °C")))
    answer = await live.research(QUESTION)
    events = trace.events(answer.run_id)
    assert types(events)[:4] == ["run_started", "searched", "model_asked", "model_called"]
    searched, asked = events[1].body, events[2].body
    assert searched.queries == (QUESTION,)
    assert {passage.name for passage in searched.passages} == {"manual.pdf", "notes.md", "recipe.md"}
    best = next(each for each in searched.passages if each.name == "manual.pdf")
    assert best.pages == (7,)
    assert "The Borea 12 works down to -25 °C." in best.excerpt
    assert asked.caller == "Triage"
    calls = trace.recent_calls()
    assert [event for event in calls if event.body.type == "model_asked"] == of_type(events, "model_asked")
    assert len(of_type(calls, "model_called")) == answer.usage.model_calls
    assert live.models.pace.expect("scripted", "Triage", 100).expected_seconds is not None


async def test_a_run_replayed_from_its_journal_gives_the_same_answer(
    panel: MakePanel, serve: Serve, trace: Trace
) -> None:
    live = panel(serve(Panel("-25 °C")))
    first = await live.research(QUESTION)
    replay = ReplayingLLM(trace.journal_entries(first.run_id), live.models.default.model)
    again = await Orchestrator(
        Models(replay),
        live.library,
        live.registry,
        trace,
        live.plans,
        live.settings,
        live.tools,
    ).research(QUESTION, examples=trace.events(first.run_id)[0].body.examples)

    assert replay.drifted == []
    own = {"run_id", "usage"}
    assert again.model_dump(exclude=own) == first.model_dump(exclude=own)
    assert all(event.body.replayed for event in of_type(trace.events(again.run_id), "model_called"))


async def test_without_evidence_the_answer_is_insufficient(panel: MakePanel, serve: Serve) -> None:
    answer = await panel(serve(Panel("no passage has this"))).research(QUESTION)
    assert answer.status is Status.INSUFFICIENT
    assert answer.looked_for == (QUESTION, "the fact", "what is known", "what it says")
    assert answer.found.startswith("Read ")
    assert answer.missing == ("the fact",)
    assert answer.evidence == ()


async def test_a_claim_without_evidence_is_marked_and_insufficient(panel: MakePanel, serve: Serve) -> None:
    def boast(_: Request) -> str:
        return json.dumps(synthesis([{"text": "It works anywhere.", "evidence": []}], sufficient=True))

    answer = await panel(serve(Panel("-25 °C", roles={SYNTHESIS: boast}))).research(QUESTION)
    assert answer.status is Status.INSUFFICIENT
    assert answer.answer == "It works anywhere. [unsupported]"
    assert not answer.claims[0].supported


async def test_a_claim_cannot_cite_unknown_evidence(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    written = synthesis([{"text": "Down to -25 °C.", "evidence": [7, 1]}], sufficient=True)
    responder = replies.always(json.dumps(written))
    answer = await panel(serve(Panel("-25 °C", roles={SYNTHESIS: responder}))).research(QUESTION)
    assert answer.answer == "Down to -25 °C. [1]"
    [rejected] = of_type(trace.events(answer.run_id), "evidence_rejected")
    assert (rejected.body.quote, rejected.body.final, rejected.step) == ("[7]", True, "answer")


async def test_a_sentence_that_was_not_shown_is_dropped(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    items = [{"sentences": [number], "shows": "the limit"} for number in (1, 500)]
    extract = replies.always(json.dumps({"items": items}))
    answer = await panel(serve(Panel(roles={EXTRACTION: extract}))).research(QUESTION)
    assert len(answer.evidence) == 1
    rejected = [(each.body.quote, each.body.final, each.step)
                for each in of_type(trace.events(answer.run_id), "evidence_rejected")]  # fmt: skip
    assert rejected == [("[500]", False, "extract"), ("[500]", True, "extract.Extractor")]


async def test_an_invalid_plan_is_returned_with_all_faults(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    asked: list[str] = []
    bad = plan(("extract", "Extractor"), ("look", "Analyst"), ("answer", "Synthesizer"))

    def planner(request: Request) -> str:
        asked.append(request.messages[-1]["content"])
        return json.dumps(bad if len(asked) == 1 else plan())

    answer = await panel(serve(Panel("-25 °C", roles={PLANNER: planner}))).research(QUESTION)
    assert answer.status is Status.ANSWERED
    assert "Step 'extract': Extractor reads 'chunks', which no step before it writes" in asked[1]
    assert "Step 'look': Analyst reads 'record_fields', which no step before it writes" in asked[1]
    assert types(trace.events(answer.run_id))[4:10] == [
        "model_asked", "model_called", "plan_rejected", "model_asked", "model_called", "plan_made"
    ]  # fmt: skip


async def test_a_plan_that_stays_invalid_fails_the_run(panel: MakePanel, serve: Serve) -> None:
    bad = json.dumps(plan(("find", "Retriever")))
    answer = await panel(serve(Panel(roles={PLANNER: lambda _: bad}))).research(QUESTION)
    assert answer.status is Status.FAILED
    assert "No step writes the answer" in answer.reasoning
    assert "3 attempts" in answer.reasoning
    assert "Try mode `fast`" in answer.reasoning


@pytest.mark.parametrize("role", [PLANNER, EXTRACTION, SYNTHESIS])
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (replies.server_error(), "500"),
        (replies.rate_limited(0.01), "429"),
        (replies.unauthorised(), "API_KEY"),
        (replies.model_missing(), "model"),
        (replies.hang(), "TIMEOUT_S"),
        (replies.drop(), "connection"),
        (replies.nonsense(), "attempts"),
        (replies.empty(), "attempts"),
        (replies.truncate('{"reasoning": "It is a long st'), "MAX_OUTPUT_TOKENS"),
        (replies.break_off('{"reasoning": "It is a long st'), "attempts"),
        (replies.raw("<html>proxy</html>"), "protocol"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else "",
)
async def test_every_endpoint_error_fails_the_run_with_a_reason(
    panel: MakePanel, serve: Serve, trace: Trace, role: str, fault: replies.Reply, reason: str
) -> None:
    settings = serve(
        Panel("-25 °C", roles={role: replies.always(fault)}),
        timeout_s=0.4 if fault.hang else LIMIT_S, retries=1, response_retries=1,
    )  # fmt: skip
    answer = await asyncio.wait_for(panel(settings).research(QUESTION), timeout=LIMIT_S)
    assert answer.status is Status.FAILED
    assert reason.lower() in answer.reasoning.lower()
    assert settings.base_url in answer.reasoning
    assert types(trace.events(answer.run_id))[-1] == "run_finished"
    assert trace.run(answer.run_id).status == "failed"


async def test_an_unreachable_endpoint_fails_the_run_with_advice(panel: MakePanel) -> None:
    settings = EndpointSettings(provider="ollama", base_url="http://127.0.0.1:9", model="any")
    answer = await asyncio.wait_for(panel(settings).research(QUESTION), timeout=LIMIT_S)
    assert answer.status is Status.FAILED
    assert "ollama serve" in answer.reasoning
    assert "This is the original error" in answer.reasoning


async def test_a_question_beyond_the_context_window_is_not_sent(panel: MakePanel) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        answer = await panel(server.settings("openai", context_window=8_000)).research("Why? " * 3_900)
        assert answer.status is Status.FAILED
        assert "context window" in answer.reasoning
        assert server.requests == []


async def test_an_empty_question_is_rejected(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    with pytest.raises(AgentError, match="empty"):
        await panel(serve(Panel())).research("  \n ")
    assert trace.runs() == []


async def test_a_cancelled_run_is_stored_and_cancels_its_request(panel: MakePanel, trace: Trace) -> None:
    with ScriptedEndpoint(Panel(roles={EXTRACTION: replies.always(replies.hang())})) as server:
        run = asyncio.create_task(panel(server.settings("openai")).research(QUESTION, run_id="run_cancelled"))
        await wait_for(lambda: any(role_of(request) == EXTRACTION for request in server.requests))
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(run, timeout=LIMIT_S)
        assert trace.answer("run_cancelled").status is Status.CANCELLED
        assert trace.answer("run_cancelled").coverage.chunks_considered == 3
        await wait_for(lambda: server.requests[-1].abandoned)


async def test_a_step_that_takes_too_long_fails_the_run(panel: MakePanel) -> None:
    with ScriptedEndpoint(Panel(roles={EXTRACTION: replies.always(replies.hang())})) as server:
        slow = panel(server.settings("openai", timeout_s=10_000), step_timeout_s=600)
        run = asyncio.create_task(slow.research(QUESTION))
        await wait_for(lambda: any(role_of(request) == EXTRACTION for request in server.requests))
        advance_clock(600)
        answer = await run
    assert answer.status is Status.FAILED
    assert "'extract' (Extractor)" in answer.reasoning
    assert "step_timeout_s" in answer.reasoning


async def test_a_failing_listener_ends_the_run(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    """With a full disk, for example, neither a step nor its failure can be stored."""

    async def broken(event: Event) -> None:
        if event.step:
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        await asyncio.wait_for(
            panel(serve(Panel("-25 °C"))).research(QUESTION, broken, run_id="run_full"), timeout=LIMIT_S
        )
    assert trace.answer("run_full").status is Status.FAILED
    assert "no space left" in trace.answer("run_full").reasoning


async def test_an_agents_own_timeout_is_not_the_steps_timeout(
    panel: MakePanel, serve: Serve, package: Callable[..., str]
) -> None:
    source = """
        from typing import ClassVar

        from multi_agent.agents.retriever import Retriever as Usual


        class Sleeper(Usual):
            card: ClassVar = Usual.card.model_copy(update={"name": "Sleeper"})

            async def process(self, context, task):
                raise TimeoutError("the archive does not answer")
    """
    steps = plan(("f", "Retriever"), ("x", "Extractor"), ("s", "Synthesizer"))
    steps["steps"][0]["agent"] = "Sleeper"
    settings = serve(Panel(roles={PLANNER: lambda _: json.dumps(steps)}))
    answer = await panel(settings, agent_packages=(package("sleepers", source, None),)).research(QUESTION)
    assert "TimeoutError: the archive does not answer" in answer.reasoning
    assert "step_timeout_s" not in answer.reasoning


async def test_a_scan_reads_every_passage(panel: MakePanel, serve: Serve) -> None:
    scan = json.dumps(
        plan(
            ("all", "Retriever"), ("extract", "Extractor"), ("answer", "Synthesizer"),
            method="scan",
        )
    )  # fmt: skip
    settings = serve(Panel("°C", roles={PLANNER: lambda _: scan}))
    answer = await panel(settings, passages=1).research("List every temperature.")
    assert answer.coverage.chunks_considered == answer.coverage.chunks_total == 3
    assert len(answer.evidence) == 3


async def test_a_scan_of_named_documents_reads_those(panel: MakePanel, serve: Serve) -> None:
    scan = json.dumps(
        plan(
            ("all", "Retriever"), ("extract", "Extractor"), ("answer", "Synthesizer"),
            method="scan", documents=["notes.md"],
        )
    )  # fmt: skip
    answer = await panel(serve(Panel("°C", roles={PLANNER: lambda _: scan}))).research("List every temperature.")
    assert answer.coverage.chunks_considered == 1
    assert [quote.document for quote in answer.evidence] == ["notes.md"]


async def test_a_scan_over_the_limit_is_rejected_with_advice(panel: MakePanel, serve: Serve) -> None:
    scan = json.dumps(
        plan(
            ("all", "Retriever"), ("extract", "Extractor"), ("answer", "Synthesizer"),
            method="scan",
        )
    )  # fmt: skip
    answer = await panel(serve(Panel(roles={PLANNER: lambda _: scan})), scan_limit=2).research(QUESTION)
    assert answer.status is Status.FAILED
    assert "research.scan_limit" in answer.reasoning


async def test_prompts_do_not_depend_on_scores_or_ids(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    answer = await panel(serve(Panel("-25 °C"))).research(QUESTION)
    [extraction] = [call for call in trace.journal_entries(answer.run_id) if call.caller == "Extractor"]
    shown = extraction.messages[1].content
    assert shown.index("manual.pdf") < shown.index("notes.md") < shown.index("recipe.md")
    assert answer.run_id not in shown
    assert answer.evidence[0].chunk_id not in shown


COLLECTOR = """
    from multi_agent.agent import AgentCard, StepAgent
    from multi_agent.values.context import ContextUpdate, Evidence, Note
    from support.chunks import make_chunk

    class Collector(StepAgent):
        card = AgentCard(name="Collector", description="Collects.", writes={"chunks", "evidence", "notes"})

        async def process(self, context, task):
            for number in range(1500):
                chunk = make_chunk("It is cold.", document=f"/docs/{number}.md")
                place = chunk.model_dump(include={"document", "document_id", "name", "start", "end"})
                item = Evidence(number=1, chunk_id=chunk.id, quote=chunk.text, why=f"quote {number}", **place)
                await self._kit.keep(ContextUpdate(chunks=(chunk,), evidence=(item,)))
            return ContextUpdate(notes=(Note(agent="Collector", text="It is cold."),))
"""


async def test_partial_results_take_a_time_that_grows_with_their_number(
    panel: MakePanel, serve: Serve, package: Callable[..., str]
) -> None:
    live = panel(serve(Panel()), agent_packages=(package("collecting", COLLECTOR, None),))
    began = time.process_time()
    answer = await live.research(Asked(question=QUESTION, mode="direct", agent="Collector"))
    assert time.process_time() - began < 8, "merged one by one, they took 25 seconds, in which all other runs waited"
    assert answer.coverage.chunks_considered == 1500

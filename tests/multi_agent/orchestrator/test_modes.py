"""Modes, references between steps, votes and saved plans."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import date
from importlib.resources import files
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from api.services.research.library import CollectionLibrary
from multi_agent.errors import AgentError
from multi_agent.grounding.confidence import SHARE_RIGHT, Signal
from multi_agent.llm.models import Models, build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.memory.plans import PlanMemory
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.settings.research import ResearchSettings
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.toolbox import Toolbox
from multi_agent.values.answer import Status
from multi_agent.values.plan import Plan, Step
from multi_agent.values.request import Request as Asked
from support.chunks import make_chunk
from support.kits import library_of
from support.panel import (
    PLANNER,
    READING,
    REVISION,
    SYNTHESIS,
    TRIAGE,
    Panel,
    fast,
    planned,
    reading,
    revised,
    role_of,
    step,
    synthesis,
    triage,
)
from support.replies import Request
from support.runs.small_collection import NOTES, make_orchestrator
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import ChunkKind, TableHeader

QUESTION = "Down to which temperature does the Borea 12 work?"
MakePanel = Callable[..., Orchestrator]
Serve = Callable[..., EndpointSettings]
SEARCH = {"method": "search", "documents": [], "queries": []}


def bodies(trace: Trace, run_id: str, wanted: str) -> list[Any]:
    return [event.body for event in trace.events(run_id) if event.body.type == wanted]


@pytest.fixture(scope="module")
def wide(embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectionLibrary]:
    """A table whose only row has 30,000 characters, and a note."""
    head = "".join(f"| Column {number} " for number in range(1500))
    row = "| Borea 12 | -25 °C " + "".join(f"| value {number} " for number in range(2000))
    table = make_chunk(f"{row}|", document="/docs/wide.csv", kind=ChunkKind.TABLE)
    header = TableHeader(text=f"{head}|\n", start=0, end=len(head) + 2)
    table = table.model_copy(update={"start": header.end, "end": header.end + len(row) + 1, "header": header})
    with library_of(
        [table, make_chunk(NOTES, document="/docs/notes.md")], embedder, tmp_path_factory.mktemp("w")
    ) as it:
        yield it


@pytest.mark.parametrize(("mode", "window"), [("fast", 4096), ("high", 4096)])
async def test_a_passage_larger_than_the_context_window_is_read_in_part_and_named(
    mode: str,
    window: int,
    wide: CollectionLibrary,
    serve: Serve,
    trace: Trace,
    plans: PlanMemory,
    make_tools: Callable[..., Toolbox],
) -> None:
    claim = {"text": "Borea 12: -25 °C", "quotes": [{"passage": "wide.csv", "quote": "| -25 °C "}]}
    said = json.dumps(synthesis([{**claim, "evidence": [2]}], sufficient=True, short="-25 °C"))
    roles = {SYNTHESIS: lambda _: said, READING: lambda _: said} | ({TRIAGE: fast} if mode == "fast" else {})
    small = serve(Panel("-25 °C", "-22 °C", roles=roles)).model_copy(
        update={"context_window": window, "max_output_tokens": 1024}
    )
    models = Models(build_llm(small))
    derived = ResearchSettings().for_window(window, window - 1024)
    limits = {"planner_tokens": derived.planner_tokens, "tokens_per_call": derived.tokens_per_call}
    orchestrator = make_orchestrator(models, wide, trace, plans, make_tools(), **limits)
    answer = await orchestrator.research(QUESTION)
    assert (answer.status, answer.mode) == (Status.ANSWERED, mode), answer.reasoning
    assert any("| -25 °C " in quote.quote for quote in answer.evidence)
    assert not bodies(trace, answer.run_id, "step_failed")
    [named] = [each for each in answer.missing if "wide.csv" in each]
    assert "only the beginning of 1 passage" in named
    assert "`research.tokens_per_call`" in named


async def test_a_simple_question_takes_two_calls(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    answer = await panel(serve(Panel("-25 °C", roles={TRIAGE: fast}))).research(QUESTION)
    assert (answer.status, answer.mode, answer.usage.model_calls) == (Status.ANSWERED, "fast", 2)
    assert answer.short == "The Borea 12 works down to -25 °C."
    assert [quote.pages for quote in answer.evidence] == [(7,)]
    [made] = bodies(trace, answer.run_id, "plan_made")
    assert (made.plan.mode, made.understanding.intent) == ("fast", QUESTION)
    [step_] = made.plan.steps
    assert (step_.agents, step_.final, step_.inputs["question"]) == (("Reader",), True, QUESTION)


async def test_a_chosen_mode_is_not_asked_for(panel: MakePanel) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        answer = await panel(server.settings("openai")).research(Asked(question=QUESTION, mode="fast"))
        assert [role_of(request) for request in server.requests] == [TRIAGE, READING]
        triage_, _ = server.requests
    assert answer.mode == "fast"
    assert list(triage_.schema["properties"]) == [
        "queries", "documents", "lookup", "domain", "ask_back", "not_in_documents",
    ]  # fmt: skip
    assert "several" not in triage_.prompt
    assert '"lookup": null' in triage_.prompt, "the example has the fields of the schema"


@pytest.mark.parametrize("reference", ["@{outputs.a.b}", "@{outputs.answer.answer}"])
@pytest.mark.parametrize("mode", ["fast", "auto"])
async def test_text_of_a_question_is_no_reference(panel: MakePanel, serve: Serve, reference: str, mode: Any) -> None:
    """It would be a reference to a step that never ends, and stop the whole service."""
    question = f"Down to which temperature does {reference} work?"
    orchestrator = panel(serve(Panel("-25 °C", roles={TRIAGE: fast})))
    answer = await asyncio.wait_for(orchestrator.research(Asked(question=question, mode=mode)), LIMIT_S)
    assert answer.short == "The Borea 12 works down to -25 °C."
    assert answer.question == question


async def test_a_question_of_several_steps_is_triaged_and_planned(panel: MakePanel) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        answer = await panel(server.settings("openai")).research(QUESTION)
        assert [role_of(request) for request in server.requests][:2] == [TRIAGE, PLANNER]
    assert answer.mode == "high"


async def test_triage_gives_queries_and_documents_to_the_search(panel: MakePanel, trace: Trace) -> None:
    written = {"queries": ["frost limit", QUESTION, "Frost  limit"], "documents": ["Manual", "unknown.pdf"]}
    script = Panel("-25 °C", roles={TRIAGE: lambda request: json.dumps(triage(request, **written))})
    with ScriptedEndpoint(script) as server:
        answer = await panel(server.settings("openai")).research(Asked(question=QUESTION, mode="fast"))
    _, searched = bodies(trace, answer.run_id, "searched")
    assert (searched.queries, searched.documents) == ((QUESTION, "frost limit"), ("manual.pdf",))
    [repaired] = bodies(trace, answer.run_id, "response_repaired")
    assert repaired.caller == "Triage"
    assert repaired.repairs == (
        "document 'Manual' read as 'manual.pdf'",
        "dropped 'unknown.pdf', which is no document",
    )


@pytest.mark.parametrize(
    ("question", "searched_in"),
    [(QUESTION, ()), (f"{QUESTION} See the table of prices for 2024.", ("prices_2024.csv",))],
)
async def test_triage_cannot_limit_a_search_to_documents_that_the_question_does_not_mean(
    question: str, searched_in: tuple[str, ...], embedder: Embedder, tmp_path: Path, trace: Trace, plans: PlanMemory,
    serve: Serve, make_tools: Callable[..., Toolbox],
) -> None:  # fmt: skip
    """A small model names documents that sound like the question, and the one with the answer is never searched."""
    roles = {TRIAGE: lambda request: json.dumps(triage(request, documents=["prices_2024.csv"]))}
    settings = serve(Panel("-25 °C", roles=roles))
    chunks = [make_chunk(f"{NOTES} {at}", document=f"/docs/notes {at}.md") for at in range(3)]
    chunks.append(make_chunk("Eggs cost 3 euros.", document="/docs/prices_2024.csv"))
    with library_of(chunks, embedder, tmp_path) as library:
        orchestrator = make_orchestrator(Models(build_llm(settings)), library, trace, plans, make_tools())
        answer = await orchestrator.research(Asked(question=question, mode="fast"))
    assert bodies(trace, answer.run_id, "searched")[-1].documents == searched_in
    repairs = [each for body in bodies(trace, answer.run_id, "response_repaired") for each in body.repairs]
    dropped = "dropped prices_2024.csv: not named in the question, whose best passages are in other documents"
    assert repairs == ([] if searched_in else [dropped])


ORACLE = """
    from typing import ClassVar

    from multi_agent.agents.reader import Reader as Usual


    class Oracle(Usual):
        card: ClassVar = Usual.card.model_copy(update={"name": "Oracle", "description": "Knows the machines."})
"""


async def test_triage_chooses_among_several_agents(panel: MakePanel, package: Callable[..., str]) -> None:
    source = files("multi_agent").joinpath("prompts/reader.md").read_text(encoding="utf-8")
    module = package("oracles", ORACLE, source)
    script = Panel("-25 °C", roles={TRIAGE: lambda request: json.dumps(triage(request, agent="Oracle"))})
    with ScriptedEndpoint(script) as server:
        orchestrator = panel(server.settings("openai"), agent_packages=(module,))
        answer = await orchestrator.research(Asked(question=QUESTION, mode="fast"))
        assert server.requests[0].schema["properties"]["agent"]["enum"] == ["Oracle", "Reader"]
    assert answer.summary.steps == {"Oracle": {"completed": 1}}


async def test_the_day_of_the_run_is_in_the_prompts_and_the_trace(panel: MakePanel, trace: Trace) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        asked = Asked(question=QUESTION, today=date(2024, 2, 29))
        answer = await panel(server.settings("openai")).research(asked)
        triage_, planning, *_ = server.requests
    assert "Today is 2024-02-29." in triage_.prompt
    assert "Today is 2024-02-29." in planning.prompt
    [started] = bodies(trace, answer.run_id, "run_started")
    assert started.today == "2024-02-29"


async def test_only_the_named_agent_runs(panel: MakePanel) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        request = Asked(question=QUESTION, mode="direct", agent="Reader")
        answer = await panel(server.settings("openai")).research(request)
        assert (answer.status, answer.mode) == (Status.ANSWERED, "direct")
        assert [role_of(asked) for asked in server.requests] == [READING]


async def test_an_agent_without_evidence_gives_unsupported_claims(panel: MakePanel, serve: Serve) -> None:
    request = Asked(question=QUESTION, mode="direct", agent="QueryPlanner")
    answer = await panel(serve(Panel())).research(request)
    assert answer.status is Status.INSUFFICIENT
    assert answer.answer.startswith("- Searching for the fact")
    assert answer.answer.endswith("[unsupported]")


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (Asked(question="x", mode="direct", agent="Extractor"), "cannot be asked directly, because it needs chunks"),
        (Asked(question="x", mode="direct", agent="Oracle"), "'Oracle' does not exist; there are"),
        (Asked(question="x", mode="direct"), "needs an agent's name"),
        (Asked(question="x", mode="fast", agent="Reader"), "are asked directly"),
        (Asked(question="x", template="weekly"), "weekly"),
        (Asked(question=" "), "empty"),
    ],
)
async def test_an_invalid_request_is_rejected_before_it_starts(
    panel: MakePanel, serve: Serve, trace: Trace, request_: Asked, reason: str
) -> None:
    with pytest.raises(AgentError, match=reason):
        await panel(serve(Panel())).research(request_)
    assert trace.runs() == []


async def test_a_later_step_refers_to_an_earlier_answer(panel: MakePanel) -> None:
    hops = planned(
        reading("machine", "Which machine is in the manual?"),
        reading("limit", "What about @{outputs.machine.answer}?"),
        step("end", "Synthesizer"),
    )

    def read(request: Request) -> str:
        first = "What about Borea 12?" not in request.prompt
        item = {"passage": "manual.pdf", "quote": "The Borea 12 works down to -25 °C."}
        claims = [{"text": "The Borea 12 works down to -25 °C.", "quotes": [item]}]
        return json.dumps(synthesis(claims, sufficient=True, short="Borea 12" if first else "-25 °C"))

    with ScriptedEndpoint(Panel(roles={PLANNER: lambda _: json.dumps(hops), READING: read})) as server:
        answer = await panel(server.settings("openai")).research("Down to what does the machine of the manual work?")
    readings = [request for request in server.requests if role_of(request) == READING]
    assert "\nYour question, a part of it: What about Borea 12?\n" in readings[1].prompt
    assert [each.question for each in answer.on_the_way] == ["Which machine is in the manual?", "What about Borea 12?"]
    [writing] = [request for request in server.requests if role_of(request) == SYNTHESIS]
    assert "What about Borea 12?" in writing.prompt
    assert "-25 °C" in writing.prompt


async def test_a_reference_to_a_missing_answer_is_insufficient(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    hops = planned(
        reading("machine", "Which machine?"),
        reading("limit", "What about @{outputs.machine.answer}?"),
        step("end", "Synthesizer"),
    )
    script = Panel("no passage has this", roles={PLANNER: lambda _: json.dumps(hops)})
    answer = await panel(serve(script)).research(QUESTION)
    assert answer.status is Status.INSUFFICIENT
    assert "@{outputs.machine.answer} is empty: step 'machine' found nothing." in answer.reasoning
    assert answer.looked_for[0] == "Which machine?"
    skipped = {body.agent: body.reason for body in bodies(trace, answer.run_id, "step_skipped")}
    assert skipped.keys() == {"Reader", "Synthesizer"}
    assert "step 'machine' found nothing" in skipped["Reader"]


async def test_several_matches_lead_to_a_step_for_each(panel: MakePanel, trace: Trace) -> None:
    """A question with whole sentences in place of a document name would match any document."""
    places = {"manual.pdf": "The Borea 12 works down to -25 °C.", "notes.md": "down to -22 °C"}

    def read(request: Request) -> str:
        is_first = "a part of it: Which document?\n" in request.prompt
        claims = [
            {"text": f"A limit is in {name}.", "quotes": [{"passage": name, "quote": quote}]}
            for name, quote in places.items()
        ]
        return json.dumps(synthesis(claims, sufficient=True, short="" if is_first else "it holds"))

    hops = planned(
        reading("which", "Which document?"),
        reading("hop", "What does @{outputs.which.answer} say?"),
        step("end", "Synthesizer"),
    )
    one_each = revised(
        *(step(f"hop_{at}", "Reader", inputs={"question": f"What does {name} say?", "queries": []})
          for at, name in enumerate(places)),
        step("end", "Synthesizer"),
    )  # fmt: skip
    roles = {PLANNER: lambda _: json.dumps(hops), READING: read, REVISION: lambda _: json.dumps(one_each)}
    with ScriptedEndpoint(Panel(roles=roles)) as server:
        answer = await panel(server.settings("openai")).research("What does the document with a limit say?")
    assert answer.status is Status.ANSWERED
    [revision] = [request.prompt for request in server.requests if role_of(request) == REVISION]
    assert (
        "@{outputs.which.answer} is empty: step 'which' has no bare answer, as it takes a sentence: "
        "“A limit is in manual.pdf. A limit is in notes.md.” Ask about each of them"
    ) in revision
    assert {body.agent for body in bodies(trace, answer.run_id, "step_skipped")} == {"Reader", "Synthesizer"}
    asked = [request.prompt for request in server.requests if role_of(request) == READING]
    assert not any("a part of it: What does A limit" in prompt for prompt in asked)
    found = {each.question for each in answer.on_the_way}
    assert found == {"Which document?", "What does manual.pdf say?", "What does notes.md say?"}


async def test_several_samples_are_voted_on(panel: MakePanel, trace: Trace) -> None:
    said = iter(["-25 °C", "-22 °C", "-25 °C"])

    def write(_: Request) -> str:
        short = next(said)
        evidence = [1] if short == "-25 °C" else [2]
        return json.dumps(
            synthesis([{"text": f"Down to {short}.", "evidence": evidence}], sufficient=True, short=short)
        )

    with ScriptedEndpoint(Panel("°C", roles={SYNTHESIS: write})) as server:
        answer = await panel(server.settings("openai")).research(Asked(question=QUESTION, samples=3))
    assert (answer.status, answer.short) == (Status.ANSWERED, "-25 °C")
    assert answer.confidence == pytest.approx(SHARE_RIGHT[Signal.ON_QUESTION] * 2 / 3)
    [vote] = bodies(trace, answer.run_id, "voted")
    assert vote.share == pytest.approx(2 / 3)
    written = [request for request in server.requests if role_of(request) == SYNTHESIS]
    assert len(written) == 3
    assert all(request.temperature == pytest.approx(0.7) for request in written)
    assert {request.temperature for request in server.requests if request not in written} == {0.0}


RIVAL = """
    from typing import ClassVar

    from multi_agent.agent import AgentCard, AgentKit
    from multi_agent.agents.synthesizer import Synthesizer


    class Rival{weight_name}(Synthesizer):
        card: ClassVar[AgentCard] = Synthesizer.card.model_copy(
            update={{"name": "Rival{weight_name}", "weight": {weight}, "description": "Writes the answer, too."}}
        )
"""


@pytest.mark.parametrize(
    ("weight", "short", "method"),
    [(3.0, "-22 °C", "weighted"), (0.5, "-25 °C", "weighted"), (None, "-25 °C", "majority")],
)
async def test_votes_of_two_agents_are_weighted(
    package: Callable[..., str],
    panel: MakePanel,
    serve: Serve,
    trace: Trace,
    weight: float | None,
    short: str,
    method: str,
) -> None:
    name = {3.0: "Strong", 0.5: "Weak", None: "Unweighed"}[weight]
    source = dedent(RIVAL).format(weight=weight, weight_name=name)
    # Rival's prompt differs, so that the script can distinguish the two agents.
    prompt = open_prompt().replace("You write the answer", "RIVAL You write the answer")
    module = package(f"rivals_{name.lower()}", source, prompt)
    both = planned(
        step("f", "Retriever", inputs=SEARCH),
        step("x", "Extractor"),
        {**step("s", "Synthesizer"), "also": [f"Rival{name}"]},
    )

    def write(request: Request) -> str:
        mine = "-22 °C" if "RIVAL" in request.prompt else "-25 °C"
        numbers = [1] if mine == "-25 °C" else [2]
        # Without weights, one vote against one is a tie. -25 °C has more quotes and wins it.
        numbers = [1, 2] if mine == "-25 °C" else numbers
        return json.dumps(synthesis([{"text": f"{mine}.", "evidence": numbers}], sufficient=True, short=mine))

    script = Panel("°C", roles={PLANNER: lambda _: json.dumps(both), SYNTHESIS: write})
    answer = await panel(serve(script), agent_packages=(module,)).research(QUESTION)
    assert answer.short == short
    [vote] = bodies(trace, answer.run_id, "voted")
    assert vote.method == method
    assert bool(vote.tie) == (weight is None)


def open_prompt() -> str:
    """Return the Synthesizer's prompt file."""
    return files("multi_agent").joinpath("prompts/synthesizer.md").read_text(encoding="utf-8")


async def test_a_saved_plan_is_followed_by_name(panel: MakePanel, trace: Trace, plans: PlanMemory) -> None:
    saved = Plan(
        goal="answer",
        steps=(
            Step(id="f", agents=("Retriever",), instruction="Find.", inputs=SEARCH),
            Step(id="x", agents=("Extractor",), instruction="Read.", needs=("f",)),
            Step(id="s", agents=("Synthesizer",), instruction="Write.", needs=("x",)),
        ),
    )
    plans.save("short", saved, "a usual question")
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        answer = await panel(server.settings("openai")).research(Asked(question=QUESTION, template="short"))
    assert answer.status is Status.ANSWERED
    assert [role_of(request) for request in server.requests] == ["UnderstandingResponse", "Extraction", "WrittenAnswer"]
    [made] = bodies(trace, answer.run_id, "plan_made")
    assert made.plan == saved


async def test_a_plan_that_worked_is_shown_for_a_similar_question(panel: MakePanel, trace: Trace) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        orchestrator = panel(server.settings("openai"))
        await orchestrator.research(QUESTION)
        again = await orchestrator.research("Down to what temperature can the Borea 12 work?")
        first, second = [request.prompt for request in server.requests if role_of(request) == PLANNER]
    assert "Plans that worked on other questions" not in first
    assert f"- {QUESTION}\n  queries = QueryPlanner; find = Retriever" in second
    [started] = bodies(trace, again.run_id, "run_started")
    assert [example.question for example in started.examples] == [QUESTION]


async def test_deep_research_plans_and_counts_its_steps(panel: MakePanel) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        report = await panel(server.settings("openai")).deep_research(QUESTION)
        assert role_of(server.requests[0]) == PLANNER, "there is nothing to triage"
    assert (report.status, report.mode) == (Status.ANSWERED, "high")
    assert report.summary.steps_completed == 6
    assert report.summary.steps["Extractor"] == {"completed": 1}
    assert report.summary.sources_analysed == 3
    assert report.summary.quotes == 1


async def test_mode_fast_needs_an_agent_that_answers_alone(panel: MakePanel, serve: Serve) -> None:
    orchestrator = panel(serve(Panel()), disabled_agents=("Reader",))
    with pytest.raises(AgentError, match="No agent can answer in mode 'fast'"):
        await orchestrator.research(Asked(question=QUESTION, mode="fast"))


async def test_a_disabled_agent_is_neither_shown_nor_planned(panel: MakePanel) -> None:
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        await panel(server.settings("openai"), disabled_agents=("Reader",)).research(QUESTION)
        assert "- Reader" not in server.requests[0].prompt

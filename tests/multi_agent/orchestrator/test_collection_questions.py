"""Questions about the collection itself take two model calls, whatever its size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from api.services.research.execution_summary import execution_facts
from api.services.research.library import CollectionLibrary
from base.tokens import estimate_tokens
from multi_agent.library import CatalogueEntry
from multi_agent.llm.models import Models, build_llm
from multi_agent.memory.plans import PlanMemory
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.toolbox import Toolbox
from multi_agent.values.answer import Status
from multi_agent.values.request import DocumentFilter
from multi_agent.values.request import Request as Asked
from support.chunks import make_chunk
from support.panel import PLANNER, SYNTHESIS, TRIAGE, Panel, planned, role_of, step, synthesis, triage
from support.replies import Request
from support.runs.small_collection import make_orchestrator
from support.scripted_endpoint import ScriptedEndpoint
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import CollectionSpec, PageSpan, SectionStart
from vectorstore.retrieval import Retriever

MANUAL = "1 Safety\nKeep children away.\n2 Cold\nThe Borea 12 works down to -25 °C.\nBoreas need a level base."
NOTES = "The team met on Monday.\nThe Borea 12 was praised."
AT = MANUAL.index("2 Cold")
ENTRIES = (
    CatalogueEntry(
        name="manual.pdf", id="id of /docs/manual.pdf", title="Borea 12", chunks=1, pages=2, type="pdf",
        stated=date(2024, 3, 1), changed=date(2025, 1, 1), warnings=("Page 3 has no text.",),
    ),
    CatalogueEntry(name="notes.md", id="id of /docs/notes.md", chunks=1, type="md", changed=date(2025, 6, 1)),
)  # fmt: skip
UNREAD = CatalogueEntry(name="scan.bin", id="u", chunks=0, type="bin", state="failed", reason="no text")
COUNTED = "SELECT count(*) AS documents, count(*) FILTER (WHERE type = 'pdf') AS pdfs FROM documents"
NEWEST = "SELECT name, file_date FROM documents ORDER BY file_date DESC NULLS LAST LIMIT 1"
IN_2024 = "SELECT name, date FROM documents WHERE year(coalesce(date, file_date)) = 2024 ORDER BY date"

Ask = Callable[..., Any]


@pytest.fixture
def library(embedder: Embedder, tmp_path: Path) -> Iterator[CollectionLibrary]:
    chunks = [
        make_chunk(
            MANUAL, document="/docs/manual.pdf", section=("1 Safety",),
            sections=(SectionStart(start=AT, path=("2 Cold",)),),
            page_spans=(PageSpan(number=1, start=0, end=AT), PageSpan(number=2, start=AT, end=len(MANUAL))),
        ),
        make_chunk(NOTES, document="/docs/notes.md"),
    ]  # fmt: skip
    spec = CollectionSpec(
        name="mixed", embedding_model=embedder.model, dimension=embedder.dimension, chunking="sections-v1/256"
    )
    with EdgeStore(tmp_path / "store").create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages([chunk.embedded_text for chunk in chunks]))
        yield CollectionLibrary("mixed", lambda: ENTRIES, Retriever(collection, embedder), unread=lambda: (UNREAD,))


@pytest.fixture
def make_panel(
    library: CollectionLibrary, trace: Trace, plans: PlanMemory, make_tools: Callable[..., Toolbox]
) -> Callable[..., Orchestrator]:
    def make(server: ScriptedEndpoint) -> Orchestrator:
        return make_orchestrator(Models(build_llm(server.settings("openai"))), library, trace, plans, make_tools())

    return make


def script(lookup: dict[str, Any], text: str, **cited: Any) -> Panel:
    """Return a panel whose triage looks this up, and that claims the text."""
    claim = {"evidence": [], "computations": [1], "text": text, **cited}
    return Panel(
        roles={
            TRIAGE: lambda request: json.dumps(triage(request, lookup=lookup)),
            SYNTHESIS: lambda _: json.dumps(synthesis([claim], sufficient=True)),
        }
    )


def shown(requests: list[Request]) -> str:
    """Return the prompt of the agent that writes the answer."""
    return next(request.prompt for request in requests if role_of(request) == SYNTHESIS)


@pytest.mark.parametrize(
    ("question", "lookup", "claim"),
    [
        ("Which documents are there?", {"sql": "SELECT name FROM documents"}, "manual.pdf, notes.md and scan.bin"),
        ("How many, and how many are PDFs?", {"sql": COUNTED}, "There are 3 documents, 1 of which is a PDF."),
        ("Which is the newest?", {"sql": NEWEST}, "The newest is notes.md of 1 June 2025."),
        ("Which documents did we get in 2024?", {"sql": IN_2024}, "manual.pdf (1 March 2024)"),
        ("In which documents is Borea mentioned?", {"words": ["Borea"]}, "2 documents mention Borea."),
        ("Does any document mention asbestos?", {"words": ["asbestos"]}, "No document mentions asbestos."),
        ("What are the headings of the manual?", {"documents": ["Manual"], "pages": []}, "1 Safety and 2 Cold"),
    ],
)
async def test_two_calls_answer(
    make_panel: Callable[..., Orchestrator], question: str, lookup: dict[str, Any], claim: str
) -> None:
    with ScriptedEndpoint(script(lookup, claim)) as server:
        answer = await make_panel(server).research(question)
        assert [role_of(request) for request in server.requests] == [TRIAGE, SYNTHESIS]
        assert sum(estimate_tokens(request.prompt) for request in server.requests) < 4000
        assert "no quote" not in shown(server.requests)
    assert (answer.status, answer.mode, answer.claims[0].verdict) == (Status.ANSWERED, "fast", "supported")
    assert answer.basis.startswith("Computed from ")
    assert answer.found.startswith(("Asked ", "Read "))  # and not: no passage was found
    assert answer.checks == "Rules found 1 claim in the computations."
    assert answer.claims[0].computations == (1,)


async def test_pages_are_quoted(make_panel: Callable[..., Orchestrator]) -> None:
    lookup = {"documents": ["manual.pdf"], "pages": [2]}
    claimed = script(lookup, "The Borea 12 works down to -25 °C.", evidence=[1], computations=[])
    with ScriptedEndpoint(claimed) as server:
        answer = await make_panel(server).research("What is on page 2 of the manual?")
        assert "Keep children away" not in shown(server.requests)
    assert (answer.status, answer.usage.model_calls) == (Status.ANSWERED, 2)
    _, _, below = MANUAL[AT:].partition("\n")
    assert (answer.evidence[0].pages, answer.evidence[0].section, answer.evidence[0].quote) == (
        (2,),
        ("2 Cold",),
        below,
    )


async def test_a_wrong_number_is_not_accepted(make_panel: Callable[..., Orchestrator]) -> None:
    with ScriptedEndpoint(script({"sql": COUNTED}, "There are 4 documents, 1 of which is a PDF.")) as server:
        answer = await make_panel(server).research(Asked(question="How many, and how many are PDFs?", mode="fast"))
    assert (answer.status, answer.claims[0].stands) == (Status.INSUFFICIENT, False)
    assert answer.missing[-1] == "1 file could not be read and so not searched: scan.bin"
    assert execution_facts(answer)["Not read"] == "scan.bin"


async def test_what_was_searched_is_said(make_panel: Callable[..., Orchestrator]) -> None:
    with ScriptedEndpoint(script({"words": ["asbestos"]}, "No document mentions asbestos.")) as server:
        answer = await make_panel(server).research("Does any document mention asbestos?")
    [computed] = answer.computations
    assert computed.source.startswith("a search of all 2 passages of 2 documents on ")
    assert computed.flaws == ("scan.bin: not read (no text)", "manual.pdf: Page 3 has no text.")
    assert computed.rows == (('No document mentions "asbestos"', '"asbestos" is not mentioned', 2, 2, ""),)
    assert answer.looked_for == ("asbestos",)


async def test_every_mention_is_counted_in_all_its_forms(make_panel: Callable[..., Orchestrator]) -> None:
    with ScriptedEndpoint(script({"words": ["borea"]}, "2 documents mention Borea.")) as server:
        answer = await make_panel(server).research("In which documents is Borea mentioned?")
        assert "[2] " in shown(server.requests)
    whole, by_document = answer.computations
    assert whole.rows[0][-1] == "borea, boreas"
    assert by_document.rows == (("manual.pdf", 2, 1), ("notes.md", 1, 1))


async def test_the_mentions_of_two_names_tell_which_documents_have_both(
    make_panel: Callable[..., Orchestrator],
) -> None:
    lookup = {"words": ["Borea", "team"]}
    with ScriptedEndpoint(script(lookup, "Only notes.md mentions both.", computations=[2])) as server:
        answer = await make_panel(server).research("Which documents mention both Borea and the team?")
    by_document = answer.computations[1]
    assert by_document.columns[-1] == "forms found"
    assert {row[0]: row[-1] for row in by_document.rows} == {"manual.pdf": "borea, boreas", "notes.md": "team, borea"}


async def test_an_invalid_query_is_asked_for_again(make_panel: Callable[..., Orchestrator]) -> None:
    queries = iter(({"sql": "SELECT name FROM files"}, {"sql": "SELECT name FROM documents"}))
    panel = Panel(
        roles={
            TRIAGE: lambda request: json.dumps(triage(request, lookup=next(queries))),
            SYNTHESIS: lambda _: json.dumps(
                synthesis(
                    [{"evidence": [], "computations": [1], "text": "manual.pdf, notes.md and scan.bin"}],
                    sufficient=True,
                )
            ),
        }
    )
    with ScriptedEndpoint(panel) as server:
        answer = await make_panel(server).research("Which documents are there?")
        assert [role_of(request) for request in server.requests] == [TRIAGE, TRIAGE, SYNTHESIS]
        assert "There is no table 'files'" in server.requests[1].prompt
    assert answer.status is Status.ANSWERED


async def test_a_filter_limits_the_catalogue(make_panel: Callable[..., Orchestrator]) -> None:
    asked = Asked(question="How many, and how many are PDFs?", filter=DocumentFilter(type=("pdf",)))
    with ScriptedEndpoint(script({"sql": COUNTED}, "There is 1 document, 1 of which is a PDF.")) as server:
        answer = await make_panel(server).research(asked)
    assert answer.computations[0].rows == ((1, 1),)


async def test_the_planner_can_look_things_up(make_panel: Callable[..., Orchestrator]) -> None:
    plan = planned(step("list", "Catalogue", inputs={"sql": "SELECT name FROM documents"}))
    claim = {"evidence": [], "computations": [1], "text": "manual.pdf, notes.md and scan.bin"}
    panel = Panel(
        roles={
            PLANNER: lambda _: json.dumps(plan),
            SYNTHESIS: lambda _: json.dumps(synthesis([claim], sufficient=True)),
        },
    )
    with ScriptedEndpoint(panel) as server:
        answer = await make_panel(server).research(Asked(question="Which documents are there?", mode="high"))
        assert [role_of(request) for request in server.requests] == [PLANNER, SYNTHESIS]
    assert (answer.status, answer.claims[0].verdict) == (Status.ANSWERED, "supported")

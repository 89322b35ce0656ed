"""Counts of sources, by their origin."""

from __future__ import annotations

from datetime import UTC, datetime

from multi_agent.grounding.citations import evidence_in
from multi_agent.grounding.consensus import INSUFFICIENT
from multi_agent.library import CatalogueEntry
from multi_agent.orchestrator.answer_builder import RunCounter, coverage
from multi_agent.values.answer import Coverage, SourceCount, VoteGroup
from multi_agent.values.context import Claim, Computation, Evidence, Synthesis
from multi_agent.values.events import Body, Event, Voted
from multi_agent.values.evidence_events import ContradictionFound
from multi_agent.values.request import RagResult
from multi_agent.values.sources import given_passages, page_passages, tool_passage
from support.chunks import make_chunk
from support.kits import make_context
from vectorstore.models import Chunk, PageSpan

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MANUAL = make_chunk(
    "One. Two.",
    document="/docs/manual.pdf",
    page_spans=(PageSpan(number=3, start=0, end=4), PageSpan(number=4, start=4, end=9)),
)
NOTES = make_chunk("Three.", document="/docs/notes.md")
[BLOG] = page_passages("https://a.example/", NOON, "A blog", "Four.")
[FORUM] = page_passages("https://b.example/", NOON, "A forum", "Five.")
RESULT = tool_passage("calculator", {"expression": "1 + 1"}, "2")
GIVEN = given_passages([RagResult(text="Six.", source="mail"), RagResult(text="Seven.", source="mail")])
CATALOGUE = (
    CatalogueEntry(name="manual.pdf", id=MANUAL.document_id, chunks=5, pages=9),
    CatalogueEntry(name="notes.md", id=NOTES.document_id, chunks=1),
    CatalogueEntry(name="mail", id=GIVEN[0].document_id, chunks=2, given=True),
)
READ = (MANUAL, NOTES, BLOG, FORUM, RESULT, *GIVEN)


def evidence(number: int, chunk: Chunk) -> Evidence:
    pages = chunk.pages_of(chunk.start, chunk.start + 4)
    return evidence_in(chunk, chunk.start, chunk.end, chunk.text, pages=pages).model_copy(update={"number": number})


def synthesis(*cited: int) -> Synthesis:
    """Return an answer with three quotes and a computation over a fourth. Its claim cites the quotes ``cited``."""
    computation = Computation(purpose="sum", sql="", columns=("n",), rows=((1,),), evidence=(evidence(1, NOTES),))
    return Synthesis(
        claims=(Claim(text="So.", evidence=cited, computations=(1,), supported=True),),
        evidence=(evidence(1, MANUAL), evidence(2, BLOG), evidence(3, GIVEN[1])),
        computations=(computation,),
        layout="prose", sufficient=True, confidence=0.9, reasoning="", looked_for=(), found="", missing=(),
    )  # fmt: skip


def test_sources_are_counted_by_kind() -> None:
    context = make_context(chunks=READ, evidence=synthesis().evidence)
    summary = RunCounter().summary(context, CATALOGUE, synthesis(1, 2, 3))
    assert summary.documents == SourceCount(cited=2, read=2, total=2), "the computation cites one of them"
    assert summary.pages == SourceCount(cited=1, read=2, total=9)
    assert summary.web_pages == SourceCount(cited=1, read=2)
    assert summary.given_passages == SourceCount(cited=1, read=2, total=2)


def test_evidence_that_no_claim_cites_is_not_counted_as_cited() -> None:
    summary = RunCounter().summary(make_context(chunks=READ), CATALOGUE, synthesis(1))
    assert (summary.web_pages.cited, summary.given_passages.cited, summary.documents.cited) == (0, 0, 2)
    assert RunCounter().summary(make_context(chunks=READ), CATALOGUE, None).documents.cited == 0


def test_a_web_page_of_which_only_evidence_is_left_was_read() -> None:
    summary = RunCounter().summary(make_context(evidence=synthesis().evidence), CATALOGUE, None)
    assert summary.web_pages.read == 1


async def test_reported_contradictions_and_rejected_answers_are_counted_together() -> None:
    groups = tuple(VoteGroup(answer=each, voters=("Reader",), weight=1) for each in ("2", "3", INSUFFICIENT))
    said: tuple[Body, ...] = (
        ContradictionFound(agent="Extractor", sides=("“One.”", "“Two.”")),
        ContradictionFound(agent="Reader", sides=("“Two.”", "“Three.”")),
        Voted(groups=groups, share=0.5, method="majority"),
    )
    counter = RunCounter()
    for number, body in enumerate(said, 1):
        await counter.listen(Event(run_id="run_1", number=number, at=NOON, body=body))
    assert counter.summary(None, (), None).contradictions == 3


def test_the_coverage_counts_the_collection_alone() -> None:
    assert coverage(make_context(chunks=READ), CATALOGUE) == Coverage(
        documents_considered=2, documents_total=2, chunks_considered=2, chunks_total=6
    )
    assert coverage(None, CATALOGUE) == Coverage(documents_total=2, chunks_total=6)

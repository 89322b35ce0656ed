"""Collects the statistics of a run for the execution summary of its answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from multi_agent.grounding.consensus import INSUFFICIENT
from multi_agent.grounding.terms import words_of
from multi_agent.library import CatalogueEntry
from multi_agent.values.answer import Coverage, ExecutionSummary, SourceCount, ToolCount, Vote
from multi_agent.values.context import Evidence, ResearchContext, Synthesis
from multi_agent.values.events import AttemptEnded, Event, StepFailed, StepFinished, StepSkipped, ToolReturned, Voted
from multi_agent.values.evidence_events import ContradictionFound
from vectorstore.models import Chunk, GivenPassage, Origin, WebPage

_OUTCOMES = {StepFinished: "completed", StepFailed: "failed", StepSkipped: "skipped"}


class RunCounter:
    """Counts the events of a run and the sources of its answer.

    ``offered`` contains the names of the tools that the agents could call. It may grow during the run.
    """

    def __init__(self, offered: Collection[str] = ()) -> None:
        self._offered = offered
        self._attempts = 0
        self._contradictions: list[tuple[str, ...]] = []
        self._outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._tool_calls: dict[tuple[str, int], ToolReturned] = {}
        self._votes: list[Vote] = []

    async def listen(self, event: Event) -> None:
        """Count attempts, outcomes of steps, tool calls, votes and contradictions. Subscribe this to the run's bus."""
        body = event.body
        if isinstance(body, AttemptEnded):
            self._attempts += 1
        elif isinstance(body, StepFinished | StepFailed | StepSkipped):
            self._outcomes[body.agent][_OUTCOMES[type(body)]] += 1
        elif isinstance(body, ToolReturned):
            self._tool_calls[body.key, body.occurrence] = body  # a retried step repeats its calls
        elif isinstance(body, ContradictionFound):
            self._contradictions.append(body.sides)
        elif isinstance(body, Voted):
            self._votes.append(Vote(**body.model_dump(exclude={"type"})))
            answers = [group for group in body.groups if group.answer != INSUFFICIENT]
            self._contradictions += [(answers[0].answer, other.answer) for other in answers[1:]]

    @property
    def votes(self) -> tuple[Vote, ...]:
        """The votes between agents or samples, in order."""
        return tuple(self._votes)

    @property
    def contradictions(self) -> tuple[tuple[str, ...], ...]:
        """The sides of the possible contradictions, in order."""
        return tuple(self._contradictions)

    def summary(
        self, context: ResearchContext | None, catalogue: Sequence[CatalogueEntry], answer: Synthesis | None
    ) -> ExecutionSummary:
        """Return the statistics. ``context`` is None if the run ended before it had one."""
        totals = sum(self._outcomes.values(), Counter[str]())
        chunks = context.chunks if context else ()
        found = context.evidence if context else ()
        cited = tuple(_cited(answer)) if answer else ()
        tools = self._tools()
        return ExecutionSummary(
            attempts=self._attempts,
            steps={agent: dict(counted) for agent, counted in sorted(self._outcomes.items())},
            steps_completed=totals["completed"],
            steps_failed=totals["failed"],
            steps_skipped=totals["skipped"],
            sources_analysed=len({chunk.document_id for chunk in chunks}),
            quotes=len(found),
            records=len(context.records) if context else 0,
            computations=len(context.computations) if context else 0,
            documents=_documents(chunks, cited, catalogue),
            pages=_pages(chunks, cited, catalogue),
            given_passages=_given_passages(chunks, cited, catalogue),
            web_pages=SourceCount(cited=len(_urls(cited)), read=len(_urls(chunks) | _urls(found))),
            tools=tools,
            tools_offered=len({*self._offered, *tools}),
            contradictions=len(self._contradictions),
        )

    def _tools(self) -> dict[str, ToolCount]:
        calls = Counter(each.tool for each in self._tool_calls.values())
        failed = Counter(each.tool for each in self._tool_calls.values() if each.error)
        return {tool: ToolCount(calls=calls[tool], failed=failed[tool]) for tool in sorted(calls)}


def coverage(context: ResearchContext | None, catalogue: Sequence[CatalogueEntry]) -> Coverage:
    """Return the part of the collection that was read."""
    chunks = [chunk for chunk in context.chunks if chunk.origin is None] if context else []
    entries = [entry for entry in catalogue if not entry.given]
    considered = {chunk.document_id for chunk in chunks}
    scanned = [entry for entry in entries if context and entry.name in context.scanned]
    asked = context.question if context else ""
    return Coverage(
        documents_considered=len(considered),
        documents_total=len(entries),
        chunks_considered=len(chunks),
        chunks_total=sum(entry.chunks for entry in entries),
        scanned=len(scanned),
        partial=bool(context and {*context.passed_over} - {*context.scanned})
        and not all(_is_named(each, asked) for each in scanned),
        warnings=tuple(f"{each.name}: {text}" for each in entries if each.id in considered for text in each.warnings),
    )


def _is_named(entry: CatalogueEntry, question: str) -> bool:
    """Return whether the question itself contains the name or the title of the document."""
    asked = f" {' '.join(words_of(question))} "
    names = (entry.name, entry.name.rpartition(".")[0], entry.title)
    return any(f" {words} " in asked for name in names if (words := " ".join(words_of(name))))


def _cited(answer: Synthesis) -> Iterable[Evidence]:
    """Yield the evidence of the answer's claims and of the computations that they cite."""
    numbers = {number for claim in answer.claims for number in claim.evidence}
    computed = {number for claim in answer.claims for number in claim.computations}
    yield from (each for each in answer.evidence if each.number in numbers)
    for each in answer.computations:
        if each.number in computed:
            yield from each.evidence


def _documents(chunks: Sequence[Chunk], cited: Sequence[Evidence], catalogue: Sequence[CatalogueEntry]) -> SourceCount:
    return SourceCount(
        cited=len({each.document_id for each in cited if each.origin is None}),
        read=len({each.document_id for each in chunks if each.origin is None}),
        total=sum(not entry.given for entry in catalogue),
    )


def _pages(chunks: Sequence[Chunk], cited: Sequence[Evidence], catalogue: Sequence[CatalogueEntry]) -> SourceCount:
    return SourceCount(
        cited=len(_pages_of(cited)), read=len(_pages_of(chunks)), total=sum(entry.pages for entry in catalogue)
    )


def _pages_of(sources: Iterable[Chunk | Evidence]) -> set[tuple[str, int]]:
    """Return the pages of the collection's documents, each with the id of its document."""
    return {(each.document_id, page) for each in sources if each.origin is None for page in each.pages}


def _given_passages(
    chunks: Sequence[Chunk], cited: Sequence[Evidence], catalogue: Sequence[CatalogueEntry]
) -> SourceCount:
    return SourceCount(
        cited=len({each.chunk_id for each in cited if isinstance(each.origin, GivenPassage)}),
        read=sum(isinstance(chunk.origin, GivenPassage) for chunk in chunks),
        total=sum(entry.chunks for entry in catalogue if entry.given),
    )


def _urls(sources: Iterable[Chunk | Evidence]) -> set[str]:
    origins: Iterable[Origin | None] = (each.origin for each in sources)
    return {origin.url for origin in origins if isinstance(origin, WebPage)}

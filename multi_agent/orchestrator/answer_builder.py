"""Builds the answer of a run for every terminal state, with the statistics of the run.

The answer of a plan that ends in a Reader has its claims after those of the steps that led to it: each question of a
chain contains the answer to the one before, so the last claims alone do not explain the answer.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from base.counts import count
from multi_agent.grounding.confidence import WEAK
from multi_agent.grounding.consensus import INSUFFICIENT
from multi_agent.grounding.reading_order import in_reading_order
from multi_agent.grounding.terms import words_of
from multi_agent.grounding.written_answer import NOT_ANSWERED
from multi_agent.library import CatalogueEntry
from multi_agent.prompts.show_dates import show_dates
from multi_agent.prompts.show_passages import LEFT_OUT
from multi_agent.values.answer import (
    Answer,
    Computed,
    Coverage,
    ExecutionSummary,
    Quote,
    SourceCount,
    Status,
    SubAnswer,
    ToolCount,
    Vote,
    in_short,
    known_so_far,
    nearest_of,
    status_of,
)
from multi_agent.values.context import Claim, ContextUpdate, Evidence, Finding, Place, ResearchContext, Synthesis
from multi_agent.values.events import AttemptEnded, Event, StepFailed, StepFinished, StepSkipped, ToolReturned, Voted
from multi_agent.values.evidence_events import ContradictionFound
from multi_agent.values.request import Request, Selection
from vectorstore.models import Chunk, GivenPassage, WebPage
from vectorstore.text.languages import language_note

_NAMED = 5  # files that could not be read
_OUTCOMES = {StepFinished: "completed", StepFailed: "failed", StepSkipped: "skipped"}


class RunCounter:
    """Counts the events of a run and the sources of its answer.

    ``offered`` contains the names of the tools that the agents could call. It may grow during the run.
    """

    def __init__(self, offered: Collection[str] = ()) -> None:
        self._offered = offered
        self._attempts = 0
        self.contradictions: list[tuple[str, ...]] = []
        """The sides of the possible contradictions, in order."""
        self._outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._tool_calls: dict[tuple[str, int], ToolReturned] = {}
        self.votes: list[Vote] = []
        """The votes between agents or samples, in order."""

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
            self.contradictions.append(body.sides)
        elif isinstance(body, Voted):
            self.votes.append(Vote(**body.model_dump(exclude={"type"})))
            answers = [group for group in body.groups if group.answer != INSUFFICIENT]
            self.contradictions += [(answers[0].answer, other.answer) for other in answers[1:]]

    def summary(
        self, context: ResearchContext | None, catalogue: Sequence[CatalogueEntry], answer: Synthesis | None
    ) -> ExecutionSummary:
        """Return the statistics. ``context`` is None if the run ended before it had one."""
        totals = sum(self._outcomes.values(), Counter[str]())
        chunks = context.chunks if context else ()
        found = context.evidence if context else ()
        cited = answer.cited if answer else ()
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
            **_source_counts(chunks, found, cited, catalogue),
            tools=tools,
            tools_offered=len({*self._offered, *tools}),
            contradictions=len(self.contradictions),
        )

    def _tools(self) -> dict[str, ToolCount]:
        calls = Counter(each.tool for each in self._tool_calls.values())
        failed = Counter(each.tool for each in self._tool_calls.values() if each.error)
        return {tool: ToolCount(calls=calls[tool], failed=failed[tool]) for tool in sorted(calls)}


def coverage(
    context: ResearchContext | None, catalogue: Sequence[CatalogueEntry], unread: Sequence[CatalogueEntry] = ()
) -> Coverage:
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
        unread=tuple(entry.name for entry in unread),
    )


def _is_named(entry: CatalogueEntry, question: str) -> bool:
    """Return whether the question itself contains the name or the title of the document."""
    asked = f" {' '.join(words_of(question))} "
    names = (entry.name, entry.name.rpartition(".")[0], entry.title)
    return any(f" {words} " in asked for name in names if (words := " ".join(words_of(name))))


def _source_counts(
    chunks: Sequence[Chunk], found: Sequence[Evidence], cited: Sequence[Evidence], catalogue: Sequence[CatalogueEntry]
) -> dict[str, SourceCount]:
    """Return how many documents, pages, given passages and web pages were cited and read, and how many there are."""
    indexed = [each for each in chunks if each.origin is None]
    quoted = [each for each in cited if each.origin is None]
    given = {each.chunk_id for each in cited if isinstance(each.origin, GivenPassage)}
    return {
        "documents": SourceCount(
            cited=len({each.document_id for each in quoted}),
            read=len({each.document_id for each in indexed}),
            total=sum(not entry.given for entry in catalogue),
        ),
        "pages": SourceCount(
            cited=len(_pages(quoted)), read=len(_pages(indexed)), total=sum(entry.pages for entry in catalogue)
        ),
        "given_passages": SourceCount(
            cited=len(given),
            read=sum(isinstance(chunk.origin, GivenPassage) for chunk in chunks),
            total=sum(entry.chunks for entry in catalogue if entry.given),
        ),
        "web_pages": SourceCount(cited=len(_urls(cited)), read=len(_urls([*chunks, *found]))),
    }


def _pages(sources: Iterable[Chunk | Evidence]) -> set[tuple[str, int]]:
    return {(each.document_id, page) for each in sources for page in each.pages}


def _urls(sources: Iterable[Chunk | Evidence]) -> set[str]:
    return {each.origin.url for each in sources if isinstance(each.origin, WebPage)}


def answer_in(update: ContextUpdate) -> Synthesis | None:
    """Return the agent's answer to the question or to a part of it."""
    if update.synthesis:
        return update.synthesis
    return update.findings[-1].synthesis if update.findings else None


def whole_answer(update: ContextUpdate, before: Collection[str], context: ResearchContext) -> Synthesis | None:
    """Return the answer of the last step, led by the claims of the answers that it builds on.

    ``before`` contains the ids of all steps before it. The answer is as sure as the least sure of them, and it is
    insufficient if one of them is. A synthesis already draws them together.
    """
    last = answer_in(update)
    latest = {finding.step: finding for finding in context.findings if finding.step in before}
    if update.synthesis or last is None or not latest or last.clarification:
        return last
    chain = (*latest.values(), update.findings[-1])
    close = [each for each in latest.values() if not each.synthesis.sufficient]
    claims = tuple(claim for each in chain for claim in _renumbered(each.synthesis, context.evidence))
    weakest = min((each.synthesis for each in chain), key=lambda each: each.confidence)
    quotes = count(len({number for claim in claims for number in claim.evidence}), "quote")
    return last.model_copy(
        update={
            "claims": claims,
            "evidence": context.evidence,
            "sufficient": last.sufficient and not close,
            "hopeless": "",
            "confidence": weakest.confidence,
            "basis": weakest.basis if weakest.basis.startswith(WEAK) else f"Follows from {quotes}",
            "looked_for": context.looked_for,
            "missing": (*last.missing, *(f"{each.question}: {in_short(each.synthesis)}" for each in close)),
            "reasoning": " ".join(dict.fromkeys(each.synthesis.reasoning for each in chain)),
        }
    )


def _renumbered(synthesis: Synthesis, evidence: Iterable[Evidence]) -> list[Claim]:
    """Return the claims that stand, with the evidence numbers of the context."""
    now = {item.place: item.number for item in evidence}
    places = {item.number: item.place for item in synthesis.evidence}
    return [_cited_now(claim, places, now) for claim in synthesis.claims if claim.stands]


def _cited_now(claim: Claim, places: Mapping[int, Place], now: Mapping[Place, int]) -> Claim:
    return claim.model_copy(update={"evidence": tuple(now[places[number]] for number in claim.evidence)})


class AnswerBuilder:
    """Builds the answer of a run. The run sets the public attributes as soon as their values are available."""

    def __init__(self, run_id: str, request: Request, counter: RunCounter, searched: Selection | None = None) -> None:
        self._run_id, self._request, self._searched = run_id, request, searched
        self.mode: str = request.mode if request.mode != "auto" else ""
        self.catalogue: Sequence[CatalogueEntry] = ()
        self.unread: Sequence[CatalogueEntry] = ()
        self.completed_question = ""
        self.added: tuple[str, ...] = ()
        self.not_asked: Mapping[str, str] = {}
        self._counter = counter

    def from_synthesis(self, synthesis: Synthesis, context: ResearchContext) -> Answer:
        """Build the answer that an agent wrote, with its evidence numbered in reading order.

        For a strict request, an insufficient answer has no claims.
        """
        status = status_of(synthesis)
        is_answered = status in (Status.ANSWERED, Status.PARTIAL)
        if self._request.strict and status is Status.INSUFFICIENT:
            synthesis = synthesis.model_copy(update={"claims": (), "evidence": (), "computations": ()})
        synthesis = in_reading_order(synthesis)
        names, dates = _document_names(synthesis), show_dates(context.chunks)
        reason = _said(context, synthesis) if is_answered else synthesis.reasoning
        plain = self._answer(status, reason, context, synthesis)
        left_out = tuple(_left_out(plain.coverage, context))
        return plain.model_copy(
            update={
                "checks": synthesis.reasoning,
                "answer": synthesis.text,
                "short": synthesis.short if is_answered else "",
                "nearest": None if is_answered else nearest_of(synthesis),
                "parts": synthesis.parts,
                "clarification": synthesis.clarification,
                "claims": synthesis.claims,
                "evidence": tuple(
                    Quote.of(item, names[item.document], dates.get(item.document_id, "")) for item in synthesis.evidence
                ),
                "records": tuple(record.values for record in context.records),
                "computations": tuple(Computed.of(each, names) for each in synthesis.computations),
                "confidence": synthesis.confidence,
                "basis": "; ".join((synthesis.basis, *left_out)),
                "looked_for": synthesis.looked_for,
                "found": synthesis.found,
                "missing": (*synthesis.missing, *left_out, *(() if is_answered else self._notes())),
            }
        )

    def _notes(self) -> Iterator[str]:
        """Yield why agents could not be asked, what was not searched, and a note on a language of no document."""
        yield from (f"{name} {reason}" for name, reason in self.not_asked.items())
        if self.unread:
            yield f"{count(len(self.unread), 'file')} could not be read and so not searched: {_names(self.unread)}"
        languages = Counter(entry.language for entry in self.catalogue if entry.language)
        if note := language_note(self.completed_question or self._request.question, languages, None):
            yield note

    def partial(self, reason: str, context: ResearchContext | None, best: Synthesis | None = None) -> Answer:
        """Build an insufficient answer for a run that ends early, from the best answer or the quotes so far."""
        if context is None:
            return self.without_synthesis(Status.INSUFFICIENT, reason, None)
        if best is None:
            return self.from_synthesis(known_so_far(context, reason), context)
        insufficient = {"sufficient": False, "reasoning": f"{reason} Until then: {best.reasoning}"}
        return self.from_synthesis(best.model_copy(update=insufficient), context)

    def without_synthesis(self, status: Status, reason: str, context: ResearchContext | None) -> Answer:
        """Build an answer without text. ``context`` is None if the run ended before it had one."""
        return self._answer(status, reason, context, None)

    def _answer(
        self, status: Status, reason: str, context: ResearchContext | None, synthesis: Synthesis | None
    ) -> Answer:
        return Answer(
            run_id=self._run_id,
            status=status,
            mode=self.mode,
            question=self._request.question,
            completed_question=self.completed_question,
            added=self.added,
            reasoning=reason,
            on_the_way=tuple(map(_sub_answer, context.findings)) if context and self.mode == "high" else (),
            votes=tuple(self._counter.votes),
            contradictions=tuple(self._counter.contradictions),
            searched=self._searched,
            coverage=coverage(context, self.catalogue, self.unread),
            summary=self._counter.summary(context, self.catalogue, synthesis),
        )


def _names(entries: Sequence[CatalogueEntry]) -> str:
    more = len(entries) - _NAMED
    return ", ".join(entry.name for entry in entries[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _left_out(coverage: Coverage, context: ResearchContext) -> Iterator[str]:
    """Yield what was not read: documents that a scan skipped, parts of passages, and gaps that agents reported."""
    if coverage.partial:
        yield f"only {coverage.scanned} of {count(coverage.documents_total, 'document')} read completely"
    for name, times in Counter(chunk.name for chunk in context.chunks if LEFT_OUT in chunk.metadata).items():
        passages = f"{count(times, 'passage')} of {name}"
        yield f"only the beginning of {passages} read, as a call holds no more (`research.tokens_per_call`)"
    yield from dict.fromkeys(note.text for note in context.notes if note.gap)


def _said(context: ResearchContext, answer: Synthesis) -> str:
    """Return what the agents said, in order, without the results of checks, also of answers that were rejected."""
    checks = {answer.reasoning, *(finding.synthesis.reasoning for finding in context.findings)}
    lines = []
    for message in context.messages:
        if message.type == "reasoning_shared":
            check = next((each for each in checks if each and message.content.endswith(each)), "")
            said = message.content.removesuffix(check).partition(NOT_ANSWERED)[0]
            lines.append(f"{message.sender}: {said.strip()}")
    return "\n".join(dict.fromkeys(lines))


def _document_names(synthesis: Synthesis) -> dict[str, str]:
    """Return the name of each document by its path. Documents with the same name also get their differing folders."""
    cited = (*synthesis.evidence, *(item for each in synthesis.computations for item in each.evidence))
    names = {item.document: item.name for item in cited}
    for _ in range(max((len(PurePath(path).parts) for path in names), default=0)):
        counted = Counter(names.values())
        names |= {path: _longer(name, path) for path, name in names.items() if counted[name] > 1}
    return names


def _longer(name: str, path: str) -> str:
    """Return the name with one more parent folder from the path."""
    return "/".join(PurePath(path).parts[-len(PurePath(name).parts) - 1 :])


def _sub_answer(finding: Finding) -> SubAnswer:
    """Return the finding without reference marks, because its evidence is numbered differently in the answer."""
    text = " ".join(claim.text for claim in finding.synthesis.claims) or finding.synthesis.reasoning
    return SubAnswer(step=finding.step, question=finding.question, answer=text, sufficient=finding.synthesis.sufficient)

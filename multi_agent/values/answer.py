"""The result of a run, which is an answer with claims, evidence and coverage, or the reason why there is none."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import PurePath
from typing import Literal

from pydantic import Field

from base.counts import count
from base.models import FrozenModel
from multi_agent.model import Usage
from multi_agent.values.context import (
    AnswerPart,
    Claim,
    Clarification,
    Computation,
    Evidence,
    Layout,
    Quotation,
    ResearchContext,
    Synthesis,
)
from multi_agent.values.report import ReportSection
from multi_agent.values.request import Selection
from vectorstore.models import Scalar


class Status(StrEnum):
    """Terminal states of a run."""

    ANSWERED = "answered"
    PARTIAL = "partial"
    NEEDS_CLARIFICATION = "needs_clarification"
    INSUFFICIENT = "insufficient"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_result(self) -> bool:
        """Whether the run came to its end, with or without an answer in the documents."""
        return self not in (Status.FAILED, Status.CANCELLED)

    @property
    def words(self) -> str:
        """The status for people, such as "Needs clarification"."""
        return self.value.replace("_", " ").capitalize()


class Coverage(FrozenModel):
    """The part of the collection that was read for the answer. ``ExecutionSummary`` counts other sources."""

    documents_considered: int = 0
    documents_total: int = 0
    chunks_considered: int = 0
    chunks_total: int = 0
    scanned: int = Field(default=0, description="documents that were read completely")
    partial: bool = Field(
        default=False,
        description="whether a scan left out documents in which a search finds passages, which the answer says",
    )
    warnings: tuple[str, ...] = Field(
        default=(), description="what was not read, or read by a guess, of the documents considered, with their names"
    )
    unread: tuple[str, ...] = Field(
        default=(), description="files of the collection that could not be read, so they were not searched"
    )


IMPORTED = "Imported on "
"""The beginning of the basis of an imported answer."""


class Quote(Quotation):
    """An item of evidence in an answer."""

    dated: str = Field(default="", description="date of its document and what it is a newer version of, in words")

    @classmethod
    def of(cls, evidence: Evidence, name: str, dated: str = "") -> "Quote":
        """Convert evidence to a quote of the document ``name``. Drops fields that only agents need."""
        return cls(**{**evidence.model_dump(exclude={"name", "why"}), "document": name, "dated": dated})

    @property
    def name(self) -> str:
        """The name of the document. In older runs, the last part of its path."""
        path = PurePath(self.document)
        return path.name if self.origin is None and path.is_absolute() else self.document


class Computed(FrozenModel):
    """A computation in an answer, with its query, its result and the quotes of the records that it used."""

    number: int = Field(description="number in the answer, which refers to it as [C1], …")
    purpose: str
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]
    truncated: bool
    evidence: tuple[Quote, ...]
    flaws: tuple[str, ...]
    source: str = Field(default="", description="what it was computed from, if not from quotes")

    @classmethod
    def of(cls, computation: Computation, names: Mapping[str, str]) -> "Computed":
        """Convert the computation and its evidence. ``names`` maps the paths of documents to their names."""
        quotes = tuple(Quote.of(item, names[item.document]) for item in computation.evidence)
        return cls(**{**{name: getattr(computation, name) for name in cls.model_fields}, "evidence": quotes})


class Nearest(FrozenModel):
    """The nearest answer in the documents, if they do not contain the requested one. The claims state it."""

    answer: str = Field(description="the bare value")
    difference: str = Field(description="how it differs from the requested answer, in the model's words")

    def __str__(self) -> str:
        return f"{self.answer} ({self.difference})" if self.difference else self.answer


class SubAnswer(FrozenModel):
    """The answer to an intermediate question."""

    step: str
    question: str
    answer: str
    sufficient: bool


class SourceCount(FrozenModel):
    """The number of sources of one kind that a run used."""

    cited: int = Field(default=0, description="sources that support claims of the answer")
    read: int = 0
    total: int | None = Field(default=None, description="available sources; null if the number is unknown")


class ToolCount(FrozenModel):
    """The number of calls of a tool in a run."""

    calls: int = 0
    failed: int = 0


class ExecutionSummary(FrozenModel):
    """Statistics of a run. ``Answer.usage`` contains its model calls, tokens, seconds and cost."""

    attempts: int = Field(default=0, description="executed plans, including revisions")
    steps: dict[str, dict[str, int]] = Field(
        default={}, description="number of completed, failed and skipped steps by agent"
    )
    steps_completed: int = 0
    steps_failed: int = 0
    steps_skipped: int = 0
    sources_analysed: int = Field(default=0, description="documents with passages that were read")
    quotes: int = Field(default=0, description="verified")
    records: int = 0
    computations: int = 0
    documents: SourceCount = Field(default=SourceCount(), description="of the collection")
    pages: SourceCount = Field(default=SourceCount(), description="pages of documents whose format has pages")
    given_passages: SourceCount = Field(
        default=SourceCount(), description="documents given by the caller that are not in the collection"
    )
    web_pages: SourceCount = SourceCount()
    tools: dict[str, ToolCount] = Field(default={}, description="calls by tool")
    tools_offered: int = Field(default=0, description="number of tools that the agents could call")
    contradictions: int = Field(
        default=0,
        description="pairs of statements that may contradict each other: quotes of different documents, answers to one "
        "question, or the chosen answer and another answer in a vote",
    )


class VoteGroup(FrozenModel):
    """Equal answers and their voters."""

    answer: str = Field(description="in short")
    voters: tuple[str, ...]
    weight: float = Field(description="sum of the weights of its voters, or their number if votes have no weights")


class Vote(FrozenModel):
    """The vote that chose one of several answers to a question."""

    groups: tuple[VoteGroup, ...] = Field(description="groups of equal answers; the first was chosen")
    share: float = Field(description="share of the chosen answer in the total weight")
    method: Literal["weighted", "majority"]
    tie: str = Field(default="", description="how a tie was broken; empty if there was none")


class Answer(FrozenModel):
    """The result of a run. It is complete in every terminal state."""

    run_id: str
    status: Status
    mode: str = Field(description="fast, high or direct; empty if the run ended before it was chosen")
    question: str
    completed_question: str = Field(
        default="", description="the question as completed from the conversation; empty if it was not changed"
    )
    added: tuple[str, ...] = Field(default=(), description="its words that are not the person's own")
    answer: str = Field(default="", description="text with [1] marks; empty if there is none")
    claims: tuple[Claim, ...] = ()
    evidence: tuple[Quote, ...] = ()
    short: str = Field(
        default="", description="the bare answer, with '; ' between several; empty if it needs a sentence"
    )
    nearest: Nearest | None = Field(
        default=None, description="the nearest answer of an insufficient run; null if there is none"
    )
    parts: tuple[AnswerPart, ...] = Field(
        default=(), description="the parts of a question that asks several things; empty for any other question"
    )
    clarification: Clarification | None = Field(
        default=None,
        description="what to ask the person whose question is unclear; null if it is clear. Ask the `question` of the "
        "chosen candidate next.",
    )
    records: tuple[dict[str, Scalar | None], ...] = ()
    computations: tuple[Computed, ...] = ()
    on_the_way: tuple[SubAnswer, ...] = Field(default=(), description="answers to intermediate questions")
    confidence: float = Field(default=0.0, ge=0, le=1)
    basis: str = Field(default="", description="what the answer rests on, in words; empty in older runs")
    reasoning: str = Field(
        default="", description="how the answer was reached, as the agents said, or why the run ended without one"
    )
    checks: str = Field(default="", description="result of the checks of an answer, in words; empty in older runs")
    looked_for: tuple[str, ...] = ()
    found: str = ""
    missing: tuple[str, ...] = ()
    votes: tuple[Vote, ...] = Field(default=(), description="votes among several answers to one question, in order")
    contradictions: tuple[tuple[str, ...], ...] = Field(
        default=(), description="statements that may contradict each other, with their documents; votes are among them"
    )
    searched: Selection | None = Field(default=None, description="documents that match the filter; null without filter")
    sections: tuple[ReportSection, ...] = Field(default=(), description="of a report; their claims are in this order")
    coverage: Coverage = Coverage()
    summary: ExecutionSummary = ExecutionSummary()
    usage: Usage = Usage()

    @property
    def layout(self) -> Layout:
        """The layout of the claims, detected from the text of the answer."""
        if self.answer.startswith("1. "):
            return "numbered_list"
        return "list" if self.answer.startswith("- ") else "prose"

    @property
    def imported(self) -> bool:
        """Whether the run was imported from a file, so that its content may be forged."""
        return self.basis.startswith(IMPORTED)

    @property
    def outcome(self) -> str:
        """The status for people, such as "Partial: 2 of 3 parts answered"."""
        if self.status is not Status.PARTIAL:
            return self.status.words
        answered = sum(each.verdict == "answered" for each in self.parts)
        return f"{self.status.words}: {answered} of {len(self.parts)} parts answered"

    @property
    def cited(self) -> tuple[Quote, ...]:
        """The evidence that claims cite, by number."""
        numbers = {number for claim in self.claims for number in claim.evidence}
        return tuple(quote for quote in self.evidence if quote.number in numbers)


def status_of(synthesis: Synthesis) -> Status:
    """Return ANSWERED if the synthesis is sufficient, a claim stands and none is contradicted.

    Otherwise return NEEDS_CLARIFICATION if it asks back, PARTIAL if it answers some parts of the question, or
    INSUFFICIENT.

    A sufficient answer without claims also counts as ANSWERED, because the question defines the answer for that case.
    """
    if synthesis.clarification:
        return Status.NEEDS_CLARIFICATION
    if is_partial(synthesis.parts) and holds(synthesis.claims):
        return Status.PARTIAL
    stands = not synthesis.claims or holds(synthesis.claims)
    return Status.ANSWERED if synthesis.sufficient and stands else Status.INSUFFICIENT


def is_partial(parts: Sequence[AnswerPart]) -> bool:
    """Return whether some, but not all parts of a question are answered."""
    return len({each.verdict == "answered" for each in parts}) > 1


def holds(claims: Sequence[Claim]) -> bool:
    """Return whether an answer may rest on these claims: one stands, and none is contradicted by its quotes."""
    return any(claim.stands for claim in claims) and all(claim.verdict != "contradicted" for claim in claims)


def nearest_of(synthesis: Synthesis) -> Nearest | None:
    """Return the nearest answer of an insufficient synthesis. None unless its claims hold and it has a short answer."""
    if synthesis.sufficient or synthesis.clarification or not holds(synthesis.claims) or not synthesis.short:
        return None
    return Nearest(answer=synthesis.short, difference="; ".join(synthesis.missing))


def _said(synthesis: Synthesis) -> str:
    """Return the texts of the claims, without marks: prompts have numbers of their own."""
    return " ".join(claim.text for claim in synthesis.claims)


def in_short(synthesis: Synthesis) -> str:
    """Return the answer in one line; if insufficient, the nearest one, why it was refused, or what is missing."""
    if synthesis.sufficient:
        return synthesis.short or _said(synthesis)
    if synthesis.clarification:
        return f"unclear: {synthesis.clarification.question}"
    if status_of(synthesis) is Status.PARTIAL:
        return f"in part: {synthesis.short or _said(synthesis)} ({'; '.join(map(str, synthesis.parts))})"
    if nearest := nearest_of(synthesis):
        return f"not found; closest: {nearest}"
    if synthesis.claims:
        return f"not found; refused: {' '.join(synthesis.reasoning.split())}"
    return f"not found: {'; '.join(synthesis.missing) or synthesis.found}"


def known_so_far(context: ResearchContext, reason: str) -> Synthesis:
    """Return the quotes found so far as claims, for a run that ends before its answer is written."""
    quotes = context.evidence
    claims = tuple(
        Claim(text=each.why or each.quote, evidence=(each.number,), supported=True, pictured=bool(each.picture))
        for each in quotes
    )
    return Synthesis(
        claims=claims,
        evidence=context.evidence,
        layout="list",
        sufficient=False,
        confidence=0.0,
        reasoning=reason,
        looked_for=context.looked_for,
        found=f"{count(len(context.evidence), 'quote')} that bear on the question; no answer was written from them.",
        missing=context.understanding.requirements,
    )

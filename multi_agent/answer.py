"""The result of a run: the answer with claims, evidence and coverage, or the reason why there is none."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from multi_agent.context import Claim, Computation, Evidence, PictureSource, ResearchContext, Synthesis
from multi_agent.document_filter import Selection
from multi_agent.llm.llm import Usage
from vectorstore.models import FrozenModel, Origin, Scalar
from vectorstore.text.counts import count


class Status(StrEnum):
    """Terminal states of a run."""

    ANSWERED = "answered"
    INSUFFICIENT = "insufficient"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Coverage(FrozenModel):
    """How much of the collection was read for the answer. The summary counts other sources."""

    documents_considered: int = 0
    documents_total: int = 0
    chunks_considered: int = 0
    chunks_total: int = 0


class Quote(FrozenModel):
    """An item of evidence in an answer: ``parsed_text[start:end] == quote``, unless a model read it in a picture."""

    number: int
    document: str = Field(description="path of the document as ingested")
    document_id: str
    chunk_id: str
    pages: tuple[int, ...]
    start: int
    end: int
    quote: str
    picture: PictureSource | None = Field(
        default=None, description="where a model read the words, if in the picture of a page; no rule verified them"
    )
    origin: Origin | None = Field(default=None, description="its web page or tool; null for a document")

    @classmethod
    def of(cls, evidence: Evidence) -> Quote:
        """Build the quote without the fields that only agents need."""
        return cls(**evidence.model_dump(exclude={"name", "why"}))


class Computed(FrozenModel):
    """A computation in an answer: the query, its result and the quotes of the records it used."""

    number: int = Field(description="the answer refers to it as [C1], …")
    purpose: str
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]
    truncated: bool
    evidence: tuple[Quote, ...]
    flaws: tuple[str, ...]

    @classmethod
    def of(cls, computation: Computation) -> Computed:
        """Convert the computation and its evidence."""
        quotes = tuple(Quote.of(item) for item in computation.evidence)
        return cls(**{**{name: getattr(computation, name) for name in cls.model_fields}, "evidence": quotes})


class Nearest(FrozenModel):
    """The nearest answer that the documents have, if they do not have the one asked for. The claims state it."""

    answer: str = Field(description="the bare value")
    difference: str = Field(description="how it differs from what was asked, in the model's words")

    def __str__(self) -> str:
        return f"{self.answer} ({self.difference})" if self.difference else self.answer


class SubAnswer(FrozenModel):
    """The answer to an intermediate question."""

    step: str
    question: str
    answer: str
    sufficient: bool


class SourceCount(FrozenModel):
    """How many sources of one kind a run used."""

    cited: int = Field(default=0, description="claims of the answer rest on them")
    read: int = 0
    total: int | None = Field(default=None, description="that could be read; null if nobody knows")


class ToolCount(FrozenModel):
    """How often a run called a tool."""

    calls: int = 0
    failed: int = 0


class ExecutionSummary(FrozenModel):
    """Counts of what a run did. ``Answer.usage`` has its model calls, tokens, seconds and cost."""

    attempts: int = Field(default=0, description="plans that were run, revisions included")
    steps: dict[str, dict[str, int]] = Field(
        default={}, description="by agent: how many of its steps were completed, failed or skipped"
    )
    steps_completed: int = 0
    steps_failed: int = 0
    steps_skipped: int = 0
    sources_analysed: int = Field(default=0, description="documents with passages that were read")
    quotes: int = Field(default=0, description="verified")
    records: int = 0
    computations: int = 0
    documents: SourceCount = Field(default=SourceCount(), description="of the collection")
    pages: SourceCount = Field(default=SourceCount(), description="of these documents, in formats with pages")
    given_passages: SourceCount = Field(
        default=SourceCount(), description="given by the caller and not in the collection"
    )
    web_pages: SourceCount = SourceCount()
    tools: dict[str, ToolCount] = Field(default={}, description="by tool that was called")
    tools_offered: int = Field(default=0, description="different tools that the agents could call")
    contradictions: int = Field(
        default=0,
        description="pairs of statements that may contradict each other: quotes of different documents, answers to one "
        "question, and in a vote the chosen answer with each other one",
    )


class VoteGroup(FrozenModel):
    """Equal answers and their voters."""

    answer: str = Field(description="in short")
    voters: tuple[str, ...]
    weight: float = Field(description="sum over its voters; their number if votes have no weights")


class Vote(FrozenModel):
    """How one of several answers to a question was chosen."""

    groups: tuple[VoteGroup, ...] = Field(description="groups of equal answers; the first was chosen")
    share: float = Field(description="share of the total weight that the chosen answer has")
    method: Literal["weighted", "majority"]
    tie: str = Field(default="", description="how a tie was broken; empty if there was none")


class Answer(FrozenModel):
    """The result of a run; complete in every terminal state."""

    run_id: str
    status: Status
    mode: str = Field(description="fast, high or direct; empty if the run ended before it was chosen")
    question: str
    completed_question: str = Field(
        default="", description="the question that was researched, if the conversation completed it; else empty"
    )
    answer: str = Field(default="", description="text with [1] marks; empty if there is none")
    claims: tuple[Claim, ...] = ()
    evidence: tuple[Quote, ...] = ()
    short: str = Field(
        default="", description="the bare answer, if it needs no sentence; several separated by '; '; else empty"
    )
    nearest: Nearest | None = Field(
        default=None, description="the nearest answer, if the status is insufficient and there is one"
    )
    records: tuple[dict[str, Scalar | None], ...] = ()
    computations: tuple[Computed, ...] = ()
    on_the_way: tuple[SubAnswer, ...] = Field(default=(), description="answers to questions on the way")
    confidence: float = Field(default=0.0, ge=0, le=1)
    reasoning: str = Field(default="", description="how the answer was reached, or why the run ended without one")
    looked_for: tuple[str, ...] = ()
    found: str = ""
    missing: tuple[str, ...] = ()
    votes: tuple[Vote, ...] = Field(default=(), description="votes among several answers to one question, in order")
    searched: Selection | None = Field(default=None, description="the documents that the filter left; null without one")
    coverage: Coverage = Coverage()
    summary: ExecutionSummary = ExecutionSummary()
    usage: Usage = Usage()

    @property
    def cited(self) -> tuple[Quote, ...]:
        """The evidence that claims cite, by number."""
        numbers = {number for claim in self.claims for number in claim.evidence}
        return tuple(quote for quote in self.evidence if quote.number in numbers)


def status_of(synthesis: Synthesis) -> Status:
    """Return ANSWERED if the synthesis is sufficient and a claim is supported, else INSUFFICIENT.

    A sufficient answer without claims also counts: the question defines what to answer if nothing is found.
    """
    supported = not synthesis.claims or any(claim.supported for claim in synthesis.claims)
    return Status.ANSWERED if synthesis.sufficient and supported else Status.INSUFFICIENT


def nearest_of(synthesis: Synthesis) -> Nearest | None:
    """Return the nearest answer of an insufficient synthesis. None without a supported claim or a short answer."""
    supported = any(claim.supported for claim in synthesis.claims)
    if synthesis.sufficient or not supported or not synthesis.short:
        return None
    return Nearest(answer=synthesis.short, difference="; ".join(synthesis.missing))


def in_short(synthesis: Synthesis) -> str:
    """Return the answer in one line; for an insufficient one, the nearest answer or what is missing."""
    if synthesis.sufficient:
        return synthesis.short or synthesis.text
    if nearest := nearest_of(synthesis):
        return f"not found; closest: {nearest}"
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

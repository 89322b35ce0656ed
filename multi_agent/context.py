"""The shared context of a run: everything the agents know, as one frozen value.

An agent receives the fields that its card declares to read. It returns a ``ContextUpdate`` with fields that its card
declares to write. ``context_merge.py`` applies updates; nothing else changes a context.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from multi_agent.library import within
from vectorstore.models import Chunk, FrozenModel, Scalar


class Understanding(FrozenModel):
    """What the question asks for."""

    intent: str = Field(description="what the person wants to know or decide, in one sentence")
    domain: str = Field(description="the field the question belongs to, in a few words")
    requirements: tuple[str, ...] = Field(
        description="what a complete answer must contain, one item each; nothing that is not asked for"
    )


class Inspection(FrozenModel):
    """What the retrieved passages are like."""

    format: str
    structure: str
    quality_problems: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Strategy(FrozenModel):
    """How to recognise, in these passages, what the question needs."""

    description: str = Field(description="what is to be found, in a few words")
    take: str = Field(description="how to recognise it and what to copy out")
    leave_out: str = Field(description="what looks like it and is not; empty if nothing does")
    examples: tuple[str, ...] = Field(description="what a fit looks like, with made-up contents; [] if that is plain")


class RecordField(FrozenModel):
    """One column of the records that the Extractor is to fill."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    type: Literal["text", "number", "date", "boolean"]
    meaning: str


class Evidence(FrozenModel):
    """A verbatim quote, located: ``parsed_text[start:end] == quote`` in the document's parsed text."""

    number: int = Field(ge=1, description="how the answer refers to it; assigned in order of document and position")
    document: str
    document_id: str
    name: str
    chunk_id: str
    pages: tuple[int, ...] = ()
    start: int
    end: int
    quote: str
    why: str = Field(default="", description="what it shows, in the Extractor's words")

    @property
    def place(self) -> tuple[str, int, int]:
        """What it is known by, however it is numbered: document id and span."""
        return self.document_id, self.start, self.end


class Record(FrozenModel):
    """One extracted row; its values follow the record fields, and its evidence is where they were read."""

    values: dict[str, Scalar | None]
    chunk_id: str
    start: int
    end: int


class Computation(FrozenModel):
    """What a query over the extracted records gave: evidence, like a quote, by the records that it was made from."""

    number: int = Field(default=1, ge=1, description="how the answer refers to it; in the order of computing")
    purpose: str = Field(description="what was computed, in a few words")
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]
    truncated: bool = Field(default=False, description="whether there were more rows than are kept")
    evidence: tuple[Evidence, ...] = Field(description="the quotes of the records that went into it")
    flaws: tuple[str, ...] = Field(default=(), description="values that did not fit their type, and were left as text")


class Claim(FrozenModel):
    """One statement of the answer with the numbers of the evidence and the computations that support it."""

    text: str
    evidence: tuple[int, ...] = ()
    computations: tuple[int, ...] = ()
    supported: bool


class Synthesis(FrozenModel):
    """The answer, or why there is none."""

    claims: tuple[Claim, ...]
    short: str = Field(default="", description="the bare answer, where it takes no sentence; several divided by '; '")
    evidence: tuple[Evidence, ...] = Field(description="the evidence as it was numbered when the claims were written")
    computations: tuple[Computation, ...] = Field(default=(), description="as numbered when the claims were written")
    layout: Literal["prose", "list", "numbered_list"]
    sufficient: bool
    confidence: float = Field(ge=0, le=1)
    reasoning: str
    looked_for: tuple[str, ...]
    found: str
    missing: tuple[str, ...]

    @property
    def text(self) -> str:
        """The claims laid out as the answer, each with its marks; unsupported ones say so."""
        marked = [claim.text.rstrip() + _marks(claim) for claim in self.claims]
        if self.layout == "prose":
            return " ".join(marked)
        bullets = (f"{i}." if self.layout == "numbered_list" else "-" for i in range(1, len(marked) + 1))
        return "\n".join(f"{bullet} {text}" for bullet, text in zip(bullets, marked, strict=True))


class Wording(FrozenModel):
    """What was searched for, and where."""

    words: str
    documents: tuple[str, ...] = Field(default=(), description="names of those alone that were searched; all, if none")


class Finding(FrozenModel):
    """The answer to a question on the way to the answer."""

    step: str = Field(description="the step that found it")
    question: str
    queries: tuple[str, ...] = Field(default=(), description="what was searched for it beside the question")
    documents: tuple[str, ...] = Field(default=(), description="names of those alone that were searched; all, if none")
    synthesis: Synthesis


class Note(FrozenModel):
    """A finding in words, by an agent that has no field of its own to write."""

    agent: str
    text: str


class AgentMessage(FrozenModel):
    """What an agent told the others after its turn."""

    sender: str
    type: str
    content: str


class ResearchContext(FrozenModel):
    """All that is known in a run. Field names are what agents declare to read and write."""

    question: str
    understanding: Understanding
    queries: tuple[str, ...] = Field(default=(), description="search queries")
    searched: tuple[Wording, ...] = Field(default=(), description="what was searched for already")
    scanned: tuple[str, ...] = Field(default=(), description="documents that were found whole, by name")
    chunks: tuple[Chunk, ...] = Field(default=(), description="retrieved passages, by document and position")
    ranking: tuple[str, ...] = Field(default=(), description="ids of the chunks that a search found, best first")
    inspection: Inspection | None = Field(default=None, description="format, structure and quality of the passages")
    strategies: tuple[Strategy, ...] = Field(default=(), description="how to find the answer in the passages")
    record_fields: tuple[RecordField, ...] = Field(default=(), description="columns of the records to extract")
    evidence: tuple[Evidence, ...] = Field(default=(), description="verified verbatim quotes")
    records: tuple[Record, ...] = Field(default=(), description="typed rows read from the passages")
    read: tuple[str, ...] = Field(default=(), description="'CHUNK_ID/MANNER': passages that were read, and how")
    computations: tuple[Computation, ...] = Field(default=(), description="results of queries over the records")
    findings: tuple[Finding, ...] = Field(default=(), description="answers to questions on the way")
    notes: tuple[Note, ...] = Field(default=(), description="findings in words")
    synthesis: Synthesis | None = Field(default=None, description="the answer")
    messages: tuple[AgentMessage, ...] = Field(default=(), description="what agents told each other")

    @property
    def looked_for(self) -> tuple[str, ...]:
        """In which words, by whomever; what was searched for in the same documents alone stands together."""
        found = (
            Wording(words=words, documents=each.documents)
            for each in self.findings
            for words in (each.question, *each.queries)
        )
        searched = dict.fromkeys((*found, *self.searched))
        known = {each.words for each in searched}
        planned = (Wording(words=words) for words in self.queries if words not in known)
        places: dict[tuple[str, ...], list[str]] = {}
        for each in (*searched, *planned):
            places.setdefault(each.documents, []).append(each.words)
        everywhere = places.pop((), [])
        return (*everywhere, *(within("; ".join(words), documents) for documents, words in places.items()))

    def only(self, fields: Iterable[str]) -> ResearchContext:
        """The context as an agent sees it: question, understanding and ``fields``; the rest is empty."""
        seen = {"question", "understanding", *fields}
        return ResearchContext(**{name: getattr(self, name) for name in seen})


class ContextUpdate(FrozenModel):
    """The fields that an agent changes; those it does not pass stay as they are."""

    queries: tuple[str, ...] = ()
    searched: tuple[Wording, ...] = ()
    scanned: tuple[str, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    ranking: tuple[str, ...] = ()
    inspection: Inspection | None = None
    strategies: tuple[Strategy, ...] = ()
    record_fields: tuple[RecordField, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    records: tuple[Record, ...] = ()
    read: tuple[str, ...] = ()
    computations: tuple[Computation, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[Note, ...] = ()
    synthesis: Synthesis | None = None

    @property
    def changed(self) -> frozenset[str]:
        """Names of the fields that were passed."""
        return frozenset(self.model_fields_set)


WRITABLE: frozenset[str] = frozenset(ContextUpdate.model_fields)
SINGLE_VALUED: frozenset[str] = frozenset({"inspection", "record_fields", "synthesis"})


def _marks(claim: Claim) -> str:
    if not claim.supported:
        return " [unsupported]"
    return " " + "".join(
        [f"[{number}]" for number in claim.evidence] + [f"[C{number}]" for number in claim.computations]
    )

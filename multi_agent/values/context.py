"""The shared context of a run, a frozen value that contains all data that its agents share.

An agent receives the fields that its card declares to read. It returns a ``ContextUpdate`` with fields that its card
declares to write. Only ``context_merge.py`` applies updates to a context.
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from base.models import FrozenModel
from multi_agent.library import within
from multi_agent.values.request import Exchange
from vectorstore.models import Chunk, Origin, PrintedPages, Scalar


class Understanding(FrozenModel):
    """What the question asks for."""

    intent: str = Field(description="what the person wants to know or decide, in one sentence")
    domain: str = Field(default="", description="the field the question belongs to; empty if no model was asked")
    requirements: tuple[str, ...] = Field(
        description="what a complete answer must contain, one item each; nothing that is not asked for"
    )


class Inspection(FrozenModel):
    """A description of the retrieved passages."""

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


Region = tuple[float, float, float, float]
"""Left, top, right and bottom of a part of a page, as fractions of the page's width and height."""


class PictureSource(FrozenModel):
    """The place in the picture of a page where a model read a text or value."""

    page: int = Field(ge=1)
    region: Region | None = Field(
        default=None, description="left, top, right and bottom as fractions of the page; null if the model gave none"
    )

    def __str__(self) -> str:
        return f"read from the picture of page {self.page}, not verified"


class Quotation(FrozenModel):
    """A verbatim quote and its location in the document's parsed text: ``parsed_text[start:end] == quote``.

    If ``picture`` is set, the quote is not verbatim, because a model read it in the picture of a page. Then ``start``
    and ``end`` are both the start of the page in its passage, or the span in the indexed description of the figures.
    """

    number: int = Field(description="number in reading order; in older runs, in order of document and position")
    document: str = Field(description="name of the document in its collection; in older runs, its path")
    document_id: str
    chunk_id: str
    pages: tuple[int, ...]
    printed_pages: PrintedPages = ""
    section: tuple[str, ...] = Field(default=(), description="headings above the quote, outermost first")
    start: int
    end: int
    quote: str
    picture: PictureSource | None = Field(
        default=None, description="picture of a page in which a model read the words; they are not verified"
    )
    origin: Origin | None = Field(default=None, description="the web page or tool; null for a document")


class Evidence(Quotation):
    """A quote that the agents share. ``document`` is the path of the document."""

    number: int = Field(
        ge=1, description="the agents' reference to it, in order of document and position; an answer renumbers it"
    )
    document: str
    name: str
    pages: tuple[int, ...] = ()
    why: str = Field(default="", description="what it shows, in the Extractor's words")

    @property
    def place(self) -> "Place":
        """The identity of the evidence without its number: document id, span, and words of a picture reading."""
        span = (self.document_id, self.start, self.end)
        return (*span, self.quote) if self.picture else span


Place = tuple[str, int, int] | tuple[str, int, int, str]
"""The identity of evidence: document id, start and end, plus the words of a picture reading."""


class Record(FrozenModel):
    """One extracted row, with values by record field and the span from which they were read."""

    values: dict[str, Scalar | None]
    chunk_id: str
    start: int
    end: int
    also: tuple[tuple[str, int, int], ...] = Field(default=(), description="passages and spans of further values")
    list: str = Field(default="", description="step that read it for an item of a list; empty if it was extracted")


class RecordList(FrozenModel):
    """The columns of the records that a step wrote for the items of a list."""

    step: str
    fields: tuple[RecordField, ...]


class Computation(FrozenModel):
    """The result of a query over the extracted records, with the evidence of the records it used, or over a source."""

    number: int = Field(default=1, ge=1, description="number in the answer, in the order of computation")
    purpose: str = Field(description="what was computed, in a few words")
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]
    truncated: bool = Field(default=False, description="whether rows beyond the limit were dropped")
    evidence: tuple[Evidence, ...] = Field(description="the quotes of the records that it used")
    flaws: tuple[str, ...] = Field(
        default=(),
        description="values that did not fit their type and were left as text; with a source, what it did not cover",
    )
    source: str = Field(
        default="", description="what it was computed from instead of records, such as the catalogue of 15 documents"
    )


Verdict = Literal["supported", "contradicted", "not_checked"]


class Claim(FrozenModel):
    """One statement of the answer with the numbers of its evidence and computations."""

    text: str
    evidence: tuple[int, ...] = ()
    computations: tuple[int, ...] = ()
    supported: bool
    pictured: bool = Field(
        default=False, description="whether its evidence is text that a model read in a picture, which is unverified"
    )
    verdict: Verdict = Field(
        default_factory=lambda given: "supported" if given["supported"] else "not_checked",
        description="whether its evidence states it, states something else, or could not be compared with it",
    )
    stands: bool = Field(
        default_factory=lambda given: given["supported"],
        description="whether the answer may rest on it; an unchecked claim does, unless its evidence lacks a figure or "
        "name of it",
    )
    checked: str = Field(default="", description="how it was checked, in words; empty in older runs")

    @property
    def remark(self) -> str:
        """What a reader must know about it in two or three words; empty for a supported claim."""
        if self.verdict == "contradicted":
            return "contradicts its quote"
        return "unsupported" if not self.stands else "" if self.supported else "not checked"

    @property
    def marked(self) -> str:
        """The text with its reference marks, if it stands, and its remark, such as [not checked]."""
        marks = [f"[{number}]" for number in self.evidence] + [f"[C{number}]" for number in self.computations]
        remark = f"[{self.remark}]" if self.remark else ""
        return " ".join(filter(None, (self.text.rstrip(), "".join(marks) if self.stands else "", remark)))


Layout = Literal["prose", "list", "numbered_list"]
"""The layout of the claims of an answer, which is one paragraph or a list."""


PartVerdict = Literal["answered", "not_found", "not_in_documents"]


class AnswerPart(FrozenModel):
    """One of several things that a question asks."""

    part: str = Field(description="what it asks for, in a few words")
    verdict: PartVerdict = Field(
        description="`not_in_documents` for what stored documents cannot know, such as today's price or an opinion"
    )

    def __str__(self) -> str:
        return f"{self.part}: {self.verdict.replace('_', ' ')}"


class Candidate(FrozenModel):
    """One thing that an unclear question may mean, with the words of a passage that name it."""

    name: str
    question: str = Field(description="the question with this meaning, complete in itself")
    document: str = Field(description="name of the document that the quote is from")
    quote: str


class Clarification(FrozenModel):
    """A question to the person, whose own question does not say whom or what it means."""

    question: str
    candidates: tuple[Candidate, ...] = Field(min_length=2)


class Synthesis(FrozenModel):
    """The answer, or the reason why there is none."""

    claims: tuple[Claim, ...]
    short: str = Field(
        default="",
        description="the bare answer, if it needs no sentence; several separated by '; '; if insufficient, what comes "
        "closest",
    )
    evidence: tuple[Evidence, ...] = Field(description="the evidence, numbered as when the claims were written")
    computations: tuple[Computation, ...] = Field(default=(), description="numbered as when the claims were written")
    layout: Layout
    sufficient: bool
    confidence: float = Field(ge=0, le=1)
    basis: str = Field(default="", description="what the answer rests on, in words; empty in older runs")
    explanation: str = Field(default="", description="how the evidence leads to the claims, in words of the model")
    reasoning: str = Field(description="the result of the checks, in words")
    looked_for: tuple[str, ...]
    found: str
    missing: tuple[str, ...]
    hopeless: str = Field(default="", description="why no other plan can help; empty if one may")
    parts: tuple[AnswerPart, ...] = Field(default=(), description="only if the question asks several things")
    clarification: Clarification | None = Field(
        default=None, description="what to ask the person; the claims then name the candidates, in the same order"
    )

    @property
    def text(self) -> str:
        """The claims as one text in the chosen layout, each with its reference marks and remark.

        If there are no claims, the short form of a sufficient answer, which the question defines for an empty result.
        """
        if not self.claims:
            return self.short if self.sufficient else ""
        marked = [claim.marked for claim in self.claims]
        if self.layout == "prose":
            return " ".join(marked)
        bullets = (f"{i}." if self.layout == "numbered_list" else "-" for i in range(1, len(marked) + 1))
        return "\n".join(f"{bullet} {text}" for bullet, text in zip(bullets, marked, strict=True))

    @property
    def cited(self) -> tuple[Evidence, ...]:
        """The evidence that the claims cite, directly or through a computation."""
        numbers = {number for claim in self.claims for number in claim.evidence}
        used = {number for claim in self.claims for number in claim.computations}
        computed = (item for each in self.computations if each.number in used for item in each.evidence)
        return (*(item for item in self.evidence if item.number in numbers), *computed)


class Wording(FrozenModel):
    """A search query and the documents it was limited to."""

    words: str
    documents: tuple[str, ...] = Field(default=(), description="names of the documents searched; empty for all")


class Finding(FrozenModel):
    """The answer to an intermediate question."""

    step: str = Field(description="the step that found it")
    question: str
    queries: tuple[str, ...] = Field(default=(), description="what was searched for besides the question")
    documents: tuple[str, ...] = Field(default=(), description="names of the documents searched; empty for all")
    synthesis: Synthesis


class Note(FrozenModel):
    """A note by an agent that has no context field of its own."""

    agent: str
    text: str
    file: str = Field(default="", description="name of the file of the run that it is about")
    gap: bool = Field(default=False, description="whether it says what the agent could not cover")


class AgentMessage(FrozenModel):
    """An event of an agent's step as text for other agents."""

    sender: str
    step: str = Field(default="", description="its step; empty in older runs")
    type: str = Field(description="type of the event")
    content: str


class FollowUp(FrozenModel):
    """What was said last in a conversation, and the person's own words after it."""

    before: Exchange
    asked: str
    added: tuple[str, ...] = ()
    """The words of the completed question that are not the person's own."""
    left_out: tuple[str, ...] = ()
    """The added names that no passage has."""


SEEN_BY_ALL = frozenset({"question", "understanding", "today", "follows"})
"""The fields of a context that every agent sees."""


class Contents(FrozenModel):
    """What agents can write into the context of a run."""

    queries: tuple[str, ...] = Field(default=(), description="search queries")
    searched: tuple[Wording, ...] = Field(default=(), description="queries that were searched")
    scanned: tuple[str, ...] = Field(default=(), description="names of documents that were read completely")
    passed_over: tuple[str, ...] = Field(
        default=(), description="names of documents in which a search found passages, but which a scan left out"
    )
    chunks: tuple[Chunk, ...] = Field(default=(), description="retrieved passages, by document and position")
    ranking: tuple[str, ...] = Field(default=(), description="ids of the chunks that a search found, best first")
    inspection: Inspection | None = Field(default=None, description="format, structure and quality of the passages")
    strategies: tuple[Strategy, ...] = Field(default=(), description="how to find the answer in the passages")
    record_fields: tuple[RecordField, ...] = Field(default=(), description="columns of the records to extract")
    lists: tuple[RecordList, ...] = Field(default=(), description="lists whose items were read, with their columns")
    evidence: tuple[Evidence, ...] = Field(default=(), description="verified verbatim quotes")
    records: tuple[Record, ...] = Field(default=(), description="typed rows read from the passages")
    read: tuple[str, ...] = Field(default=(), description="'CHUNK_ID/MANNER': passages that were read and how")
    computations: tuple[Computation, ...] = Field(default=(), description="results of queries over the records")
    findings: tuple[Finding, ...] = Field(default=(), description="answers to intermediate questions")
    notes: tuple[Note, ...] = Field(default=(), description="notes by agents")
    synthesis: Synthesis | None = Field(default=None, description="the answer")


class ResearchContext(Contents):
    """The shared data of a run. Agents declare which fields they read and write."""

    question: str
    understanding: Understanding
    today: str = Field(default="", description="the day of the run, as an ISO date")
    follows: FollowUp | None = Field(default=None, description="what the question was completed from; null if nothing")
    messages: tuple[AgentMessage, ...] = Field(default=(), description="what agents said")

    @property
    def looked_for(self) -> tuple[str, ...]:
        """All search queries and questions, grouped by the documents that the search was limited to."""
        found = (
            Wording(words=words, documents=each.documents)
            for each in self.findings
            for words in (each.question, *each.queries)
        )
        searched = dict.fromkeys((*found, *self.searched))
        known = {each.words for each in searched}
        planned = (Wording(words=words) for words in self.queries if words not in known)
        by_documents: dict[tuple[str, ...], list[str]] = {}
        for each in (*searched, *planned):
            by_documents.setdefault(each.documents, []).append(each.words)
        everywhere = by_documents.pop((), [])
        return (*everywhere, *(within("; ".join(words), documents) for documents, words in by_documents.items()))

    def only(self, fields: Iterable[str]) -> "ResearchContext":
        """Return the context with ``fields`` and the fields that every agent sees. All others are empty."""
        seen = {*SEEN_BY_ALL, *fields}
        return ResearchContext(**{name: getattr(self, name) for name in seen})


class ContextUpdate(Contents):
    """The fields that an agent changes. All others stay unchanged."""

    @property
    def changed(self) -> frozenset[str]:
        """The names of the changed fields."""
        return frozenset(self.model_fields_set)


WRITABLE: frozenset[str] = frozenset(Contents.model_fields)
SINGLE_VALUED: frozenset[str] = frozenset({"inspection", "record_fields", "synthesis"})

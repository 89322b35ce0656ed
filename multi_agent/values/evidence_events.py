"""Events about passages, evidence and claims."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field

from base.models import FrozenModel
from multi_agent.values.context import Claim, Evidence
from vectorstore.models import Chunk, Hit, Origin, PrintedPages

_MAX_PASSAGES = 24  # passages of a search that its event contains
_EXCERPT = 200  # characters


class FoundPassage(FrozenModel):
    """The beginning of a passage that a search found."""

    chunk_id: str
    document_id: str
    name: str = Field(description="name of the document")
    section: tuple[str, ...] = Field(default=(), description="headings above the passage, outermost first")
    pages: tuple[int, ...] = Field(default=(), description="pages of the excerpt; empty if the format has none")
    printed_pages: PrintedPages = ""
    start: int = Field(ge=0, description="offset of the excerpt in the parsed text of its document")
    end: int = Field(gt=0)
    excerpt: str = Field(description="the first words of the passage, at most 200 characters")
    origin: Origin | None = Field(default=None, description="the web page or tool; null for a document")
    words: tuple[str, ...] = Field(default=(), description="the words of the queries that the passage has")
    cosine: float | None = Field(default=None, description="nearness of meaning; null if it was not compared")

    @classmethod
    def of(cls, hit: Hit) -> Self:
        """Return the beginning of a chunk, cut at a word, and why the search found it."""
        chunk, excerpt = hit.chunk, hit.chunk.text
        if len(excerpt) > _EXCERPT:
            before, *after = excerpt[: _EXCERPT + 1].rsplit(maxsplit=1)
            excerpt = before if after else excerpt[:_EXCERPT]
        end = chunk.start + len(excerpt)
        pages = chunk.pages_of(chunk.start, end)
        return cls(
            chunk_id=chunk.id, document_id=chunk.document_id, name=chunk.name, section=chunk.section,
            pages=pages, printed_pages=chunk.printed(pages), start=chunk.start, end=end, excerpt=excerpt,
            origin=chunk.origin, words=hit.words, cosine=hit.cosine,
        )  # fmt: skip


class Searched(FrozenModel):
    """The collection was searched or scanned."""

    type: Literal["searched"] = "searched"
    method: Literal["search", "scan"]
    documents: tuple[str, ...] = Field(default=(), description="names of the documents searched; empty for all")
    queries: tuple[str, ...]
    chunks_found: int
    documents_found: int
    passages: tuple[FoundPassage, ...] = Field(
        default=(), description="the best passages found, at most 24, best first; empty for a scan"
    )

    @classmethod
    def of(cls, queries: Sequence[str], documents: Sequence[str], hits: Sequence[Hit]) -> Self:
        """Return the event for a search of ``documents`` (empty: all)."""
        passages = tuple(map(FoundPassage.of, hits[:_MAX_PASSAGES]))
        return cls._of("search", documents, [hit.chunk for hit in hits], queries=tuple(queries), passages=passages)

    @classmethod
    def of_scan(cls, documents: Sequence[str], chunks: Sequence[Chunk]) -> Self:
        """Return the event for a scan of ``documents`` (empty: all)."""
        return cls._of("scan", documents, chunks, queries=())

    @classmethod
    def _of(
        cls, method: Literal["search", "scan"], documents: Sequence[str], chunks: Sequence[Chunk], **more: Any
    ) -> Self:
        read = {chunk.document_id for chunk in chunks}
        return cls(
            method=method, documents=tuple(documents), chunks_found=len(chunks), documents_found=len(read), **more
        )


class ItemRead(FrozenModel):
    """The agent ForEach has read one item of its list."""

    type: Literal["item_read"] = "item_read"
    item: str
    number: int = Field(description="how many items of the step were read, with this one")
    of: int
    found: dict[str, str] = Field(description="its answers by question, without those that are empty")
    reason: str = Field(description="why answers are empty")
    failed: bool = Field(description="whether it could not be read")


class MissingReported(FrozenModel):
    """An agent reported that the passages found lack something."""

    type: Literal["missing_reported"] = "missing_reported"
    agent: str
    missing: tuple[str, ...]


class ContradictionFound(FrozenModel):
    """Two statements may contradict each other. The second one is from the agent's result."""

    type: Literal["contradiction_found"] = "contradiction_found"
    agent: str
    sides: tuple[str, ...] = Field(description="the statements with their sources")


class EvidenceRejected(FrozenModel):
    """A quote is not in its passage. If ``final``, it was dropped, otherwise its passages are read once more."""

    type: Literal["evidence_rejected"] = "evidence_rejected"
    quote: str
    passage: str
    reason: str
    final: bool
    agent: str = Field(default="", description="the agent that gave it; empty in older runs")
    about: str = Field(default="", description="purpose of the quote, in the agent's words")
    chunk_ids: tuple[str, ...] = Field(default=(), description="the passages to read once more")


class ClaimDrafted(FrozenModel):
    """A claim of an answer that is still being written, checked like the finished answer.

    It is valid until the answer arrives, the draft is withdrawn, or the step fails or is retried.
    """

    type: Literal["claim_drafted"] = "claim_drafted"
    agent: str
    claim: Claim
    evidence: tuple[Evidence, ...] = Field(description="its evidence; numbers may differ in the answer")
    dropped: tuple[str, ...] = Field(default=(), description="numbers of its sentences that were not shown")
    layout: Literal["prose", "list", "numbered_list"] = Field(default="prose", description="layout of the claims")
    short: str = Field(default="", description="the bare answer; empty until it is written")


class DraftWithdrawn(FrozenModel):
    """The drafted claims are invalid because the response broke off or was rejected. The model writes it again."""

    type: Literal["draft_withdrawn"] = "draft_withdrawn"
    agent: str
    claims: int = Field(description="number of published claims")


class ClaimChecked(FrozenModel):
    """A claim was rejected as unsupported, judged by a model, or accepted without verification.

    The method ``picture`` marks an unverified claim, whose evidence is text that a model read in the picture of a page.
    """

    type: Literal["claim_checked"] = "claim_checked"
    agent: str
    claim: str
    supported: bool
    method: Literal["rule", "model", "picture"]
    reason: str

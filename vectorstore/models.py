"""The data models of the vector store: chunks, filters, hits, collection specifications.

Every span is a half-open range of character offsets into the parsed text of the document, which the ingest ledger
stores: ``parsed_text[chunk.start:chunk.end] == chunk.text``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, JsonValue

from base.models import FrozenModel
from vectorstore.text.wide_rows import narrowed

Scalar = str | int | float | bool
FieldValue = Scalar | tuple[str, ...]
"""A value of the metadata of a document."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
"""The pattern of collection names."""

SEPARATOR = "+"
"""Between the names of the collections of a selection, such as ``mail+papers``."""


def select(names: Iterable[str]) -> str:
    """Return the selection of these collections: their names, sorted, each once. One name selects one collection."""
    return SEPARATOR.join(sorted(set(names)))


def names_in(selection: str) -> tuple[str, ...]:
    """Return the names of the collections of a selection."""
    return tuple(selection.split(SEPARATOR))


PICTURED_PAGES = "pictured_pages"
"""Metadata key: the pages of the document that show more than text, in the format of ``page_ranges``."""

FILE_DATE = "file_date"
"""Metadata key: the day of the last change of the document's file, in ISO form. Known to libraries, not to stores."""

DESCRIBED_PAGE = "described_page"
"""Metadata key: the number of the page whose figures the passage describes. A model writes such passages."""


class ChunkKind(StrEnum):
    """The form of a passage."""

    PROSE = "prose"
    TABLE = "table"
    LIST = "list"
    CODE = "code"


def _is_empty(value: Sized) -> bool:
    return not value


PageLabels = Annotated[
    dict[int, str],
    Field(exclude_if=_is_empty, description="Numbers printed on the pages, such as 'iii', where they differ."),
]
"""The labels of a document's pages by page number. Absent in JSON if there are none."""

PrintedPages = Annotated[
    str, Field(exclude_if=_is_empty, description="numbers printed on the pages, such as 'iii to iv', if they differ")
]
"""What ``printed_pages`` returns. Absent in JSON if it is empty."""


class PageSpan(FrozenModel):
    """The part [start, end) of the parsed text on page ``number``, counted from 1."""

    number: int = Field(ge=1)
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    label: str = Field(
        default="", exclude_if=_is_empty, description="number printed on it, such as 'iii', if it is not ``number``"
    )


class SectionStart(FrozenModel):
    """The place in the parsed text where a section begins."""

    start: int = Field(ge=0)
    path: tuple[str, ...] = Field(description="headings of the section, outermost first")


class TableHeader(FrozenModel):
    """The header rows of a table, repeated for each chunk with later rows."""

    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)


class WebPage(FrozenModel):
    """A page or file of the web that a tool read."""

    kind: Literal["web"] = "web"
    url: str = Field(description="the address after redirects")
    read_at: AwareDatetime


class ToolOutput(FrozenModel):
    """A result that a tool returned."""

    kind: Literal["tool"] = "tool"
    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class GivenPassage(FrozenModel):
    """A passage that the caller gave with the question."""

    kind: Literal["caller"] = "caller"
    source: str = Field(description="name or URL of where the caller has it from")
    score: float | None = Field(default=None, description="the caller's own score of it")

    def __str__(self) -> str:
        return "given with the question"


Origin = Annotated[WebPage | ToolOutput | GivenPassage, Field(discriminator="kind")]
"""The source of a passage that does not belong to a document of the collection."""


class Chunk(FrozenModel):
    """A passage of a document, a web page or a tool's result, or a passage that the caller gave."""

    id: str = Field(description="UUID, deterministic in document, version and position: the point id in Qdrant")
    document_id: str = Field(description="stable id of the document")
    document: str = Field(description="path of the document as ingested")
    name: str = Field(description="path relative to the ingested folder, shown to people and in prompts")
    version: str = Field(description="SHA-256 of the file's content, hex")
    index: int = Field(ge=0, description="position among the document's chunks, from 0")
    text: str = Field(min_length=1)
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    kind: ChunkKind = ChunkKind.PROSE
    title: str = Field(default="", description="the document's title, empty if it has none")
    about: str = Field(default="", description="issuer and period of the document, if the title lacks them")
    section: tuple[str, ...] = Field(default=(), description="headings above the passage, outermost first")
    sections: tuple[SectionStart, ...] = Field(default=(), description="sections that begin inside it, in order")
    page_spans: tuple[PageSpan, ...] = Field(default=(), description="pages it is on; empty if the format has no pages")
    header: TableHeader | None = Field(default=None, description="header of the table, for later rows of a split table")
    metadata: dict[str, Scalar] = Field(default_factory=dict)
    origin: Origin | None = Field(
        default=None, description="source of a passage that is not from a document; such passages are not indexed"
    )

    @property
    def pages(self) -> tuple[int, ...]:
        """Numbers of the passage's pages, ascending."""
        return tuple(span.number for span in self.page_spans)

    @property
    def pictured_pages(self) -> tuple[int, ...]:
        """Numbers of its pages that show more than text, ascending: scans and pages with large figures."""
        listed = pages_in(str(self.metadata.get(PICTURED_PAGES, "")))
        return tuple(page for page in self.pages if any(page in pages for pages in listed))

    @property
    def described_page(self) -> int | None:
        """The page whose figures a model described in this passage. None for the document's own text."""
        page = self.metadata.get(DESCRIBED_PAGE)
        return page if isinstance(page, int) else None

    @property
    def reading_text(self) -> str:
        """The passage, preceded by the header of its table if it has one."""
        return f"{self.header.text}\n{self.text}" if self.header else self.text

    @property
    def indexed_text(self) -> str:
        """The text whose words are indexed: ``title › about › section``, then the passage with its table header."""
        return self._with_path(self.reading_text)

    @property
    def embedded_text(self) -> str:
        """The text to embed: the indexed text with fewer columns of wide tables."""
        return self._with_path(narrowed(self.reading_text) if self.kind is ChunkKind.TABLE else self.reading_text)

    def _with_path(self, text: str) -> str:
        path = " › ".join(part for part in (self.title, self.about, *self.section) if part)
        return f"{path}\n{text}" if path else text

    def source_text(self, start: int, end: int) -> str:
        """Return the parsed text of [start, end), which must be within the passage or its table header."""
        text, offset = (self.text, self.start)
        if self.header and self.header.start <= start < self.header.end:
            text, offset = self.header.text, self.header.start
        return text[start - offset : end - offset]

    def section_of(self, start: int) -> tuple[str, ...]:
        """Return the headings above the text at ``start``, outermost first."""
        begun = (section.path for section in self.sections if section.start <= start)
        return next(reversed(tuple(begun)), self.section)

    def pages_of(self, start: int, end: int) -> tuple[int, ...]:
        """Return the numbers of the pages that contain the span [start, end), ascending."""
        return tuple(page.number for page in self.page_spans if page.start < end and start < page.end)

    def printed(self, pages: Sequence[int]) -> str:
        """Return the printed numbers of these pages of the passage, as ``printed_pages`` does."""
        return printed_pages(page_labels(self.page_spans), pages)


def page_labels(spans: Iterable[PageSpan]) -> dict[int, str]:
    """Return the printed page numbers that differ from the page number, by page number."""
    return {span.number: span.label for span in spans if span.label}


def printed_pages(labels: Mapping[int, str], pages: Sequence[int]) -> str:
    """Return the printed numbers of pages, such as ``iii to iv``. Empty if they are the page numbers."""
    if labels.keys().isdisjoint(pages):
        return ""
    ends = (pages[0], pages[-1]) if len(pages) > 1 else pages
    return " to ".join(labels.get(page, str(page)) for page in ends)


def page_ranges(pages: Iterable[int]) -> str:
    """Format page numbers as text, such as ``2, 5-7``."""
    numbers = sorted(set(pages))
    starts = [page for page in numbers if page - 1 not in numbers]
    ends = [page for page in numbers if page + 1 not in numbers]
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


def pages_in(ranges: str) -> list[range]:
    """Parse text in the format of ``page_ranges``. Raises ValueError if it is invalid."""
    parts = (part.partition("-") for part in ranges.split(", ") if part)
    return [range(int(first), int(last or first) + 1) for first, _, last in parts]


class ChunkFilter(FrozenModel):
    """Selects chunks that meet every given condition. An empty filter selects all chunks."""

    documents: tuple[str, ...] = Field(default=(), description="any of these document ids")
    positions: tuple[int, int] | None = Field(default=None, description="first and last index in the document")
    folder: str | None = Field(default=None, description="the document is in this folder, at any depth")
    kinds: tuple[ChunkKind, ...] = Field(default=(), description="any of these kinds")
    metadata: dict[str, Scalar] = Field(default_factory=dict, description="each key has this value")
    without: dict[str, tuple[Scalar, ...]] = Field(
        default_factory=dict, description="chunks with any of these metadata values are excluded"
    )


class SearchMode(StrEnum):
    """The way in which a search ranks chunks."""

    HYBRID = "hybrid"
    """By both."""
    MEANING = "meaning"
    """By the cosine of the vectors."""
    WORDS = "words"
    """By the words, with BM25."""


class Hit(FrozenModel):
    """A chunk found by a search, and why. ``score`` is comparable only within one search."""

    chunk: Chunk
    score: float
    words: tuple[str, ...] = Field(default=(), description="the words of the query that the passage has")
    cosine: float | None = Field(default=None, description="nearness of meaning; None if it was not compared")
    bm25: float | None = Field(default=None, description="BM25 score; None if words were not compared")
    best_bm25: float | None = Field(
        default=None, description="the score that counts as 1: the best, or more if words know little"
    )
    rare: float = Field(default=0.0, description="the part of the score for rare words, and for words as written")
    exact: bool = Field(
        default=False, description="whether it has a rare identifier of the query, so that rerankers keep it first"
    )
    respelt: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="words of the query that no passage has, each with those that were searched for instead",
    )


class CollectionSpec(FrozenModel):
    """The name of a collection and the settings that all its chunks share."""

    name: str = Field(pattern=rf"^{NAME.pattern}(\.[0-9]{{1,9}})?$")
    embedding_model: str
    dimension: int = Field(gt=0)
    chunking: str = Field(description="fingerprint of the chunking settings, such as 'sections-v1/256'")

    @property
    def collection(self) -> str:
        """The public name, without the number that distinguishes a rebuilt collection from the one it replaces."""
        return self.name.partition(".")[0]


class UnreadableCollection(FrozenModel):
    """A collection whose specification cannot be read, such as one on a node that is down."""

    name: str
    reason: str = Field(description="why, and what to do")

    @property
    def collection(self) -> str:
        """The public name."""
        return self.name.partition(".")[0]


class Counts(FrozenModel):
    """The size of a selection."""

    documents: int
    chunks: int

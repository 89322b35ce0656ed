"""The ledger's records of documents, and the ids of documents and indexed versions."""

import hashlib
from calendar import monthrange
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from enum import IntEnum, StrEnum
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID, uuid5

from pydantic import Field

from base.models import FrozenModel
from ingest.document import DATE, PERIOD, Block, Fact, ParsedDocument
from vectorstore.models import Chunk, FieldValue, PageSpan, Scalar

_DOCUMENT_NAMESPACE = UUID("b7d0c5a2-3b7e-5b0e-8d52-1f0c8f0a9e21")

INDEX_VERSION = "edition"
"""Metadata key of the indexed version that a chunk belongs to."""


class DocumentState(StrEnum):
    """The state of a file. The first waits for an ingest. The next three are in one, or in one that was killed."""

    DISCOVERED = "discovered"
    PARSING = "parsing"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    INDEXED = "indexed"
    FAILED = "failed"
    SKIPPED = "skipped"
    REMOVED = "removed"


STARTED = (DocumentState.PARSING, DocumentState.CHUNKING, DocumentState.EMBEDDING)
"""The states of a file that an ingest is working on."""


class Stage(StrEnum):
    """The current step of a file, or the step at which it failed."""

    READING = "reading"
    PARSING = "parsing"
    ASKING = "asking the model"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    WAITING = "waiting for the embedding model"
    STORING = "storing"


class FieldSource(IntEnum):
    """Who says a field: the file, a ``metadata.csv`` or the request. A later source takes precedence."""

    FILE = 1
    COLUMNS = 2
    REQUEST = 3


class DocumentRecord(FrozenModel):
    """One file in one collection. ``stage`` and ``reason`` explain a failed or skipped file."""

    collection: str
    id: str
    path: str
    name: str
    state: DocumentState
    stage: Stage
    reason: str = ""
    version: str = Field(default="", description="SHA-256 of the content, hex; empty if it could not be read")
    size: int = 0
    modified: float = Field(default=0.0, description="modification time of the file, seconds since 1970")
    mime_type: str = ""
    title: str = ""
    pages: int = Field(default=0, description="0 for formats without pages")
    chunks: int = 0
    tokens: int = 0
    parser: str = ""
    chunking: str = ""
    seconds: dict[str, float] = Field(default_factory=dict, description="per stage")
    warnings: tuple[str, ...] = ()
    metadata: dict[str, Scalar] = Field(default_factory=dict)
    facts: dict[str, Fact] = Field(default_factory=dict, description="about the document as a whole, by name")
    updated_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    attempts: int = Field(default=0, description="attempts since it was last indexed")
    container: str = Field(default="", description="path of the archive or message that contains it")
    read_at: float = Field(default=0.0, description="when its content was read, seconds since 1970")
    tags: tuple[str, ...] = Field(default=(), description="set by people or stated in the file, sorted")
    fields: dict[str, FieldValue] = Field(
        default_factory=dict, description="its own metadata: by --meta, metadata.csv or front matter"
    )

    @property
    def type(self) -> str:
        """The type of the file: the suffix of its name in lower case, else its MIME type."""
        return file_type(self.name, self.mime_type)

    @property
    def dated(self) -> date | None:
        """Its own date, otherwise the one that it states, its period, or the day of the last file change.

        The properties of a file tell this day better than the disk, where a copy is new. An incomplete date counts as
        its last day. None if the file was never read.
        """
        stated = stated_dates(self.fields, {name: fact.value for name, fact in self.facts.items()})
        return document_date([*stated, *file_days({**self.metadata, **self.fields})], self.modified)

    @property
    def index_version(self) -> str:
        """The indexed version that searches see; empty if there is none."""
        return index_version(self.id, self.version, self.parser, self.chunking) if self.chunks else ""


class DocumentSummary(NamedTuple):
    """The fields of a record that determine whether a file has to be read again."""

    id: str
    path: str
    name: str
    state: DocumentState
    stage: Stage
    version: str
    size: int
    modified: float
    parser: str
    chunking: str
    chunks: int
    container: str
    read_at: float
    attempts: int
    mime_type: str

    @property
    def index_version(self) -> str:
        """The indexed version that searches see; empty if there is none."""
        return index_version(self.id, self.version, self.parser, self.chunking) if self.chunks else ""


class Publication(NamedTuple):
    """A document with the indexed version to show, and what the version replaces."""

    record: DocumentRecord
    parsed: ParsedDocument | None = None
    superseded: str = ""
    """The indexed version before, if there is one. It may be the same."""
    moved_from: DocumentSummary | None = None
    """The document with the same content whose file was moved to this path. It is removed."""
    chunks: Sequence[Chunk] = ()
    fields: Mapping[str, FieldValue] | None = None
    """What the file says of itself. None if it was not read."""


OF_FILES = ("modified_at", "created_at")
"""Properties that programs write."""


class Touched(NamedTuple):
    """A file whose content is the indexed content: the id of its document, and what may have changed."""

    id: str
    name: str
    modified: float
    read_at: float


class Count(NamedTuple):
    """A number of documents, the number of their chunks that searches see, and how many have some."""

    documents: int
    chunks: int
    searchable: int


class DocumentText(FrozenModel):
    """The parsed text of a document. The spans of chunks and quotes are offsets in it."""

    text: str
    blocks: tuple[Block, ...]
    pages: tuple[PageSpan, ...]


def file_type(name: str, mime_type: str) -> str:
    """Return the suffix of a file's name in lower case, else its MIME type."""
    stem, _, suffix = name.rpartition("/")[2].rpartition(".")
    return suffix.casefold() if stem and suffix else mime_type


def stated_dates(fields: Mapping[str, FieldValue], facts: Mapping[str, str]) -> list[str]:
    """Return the document's own date, and the date and the period that it states, as far as known."""
    return [str(fields.get(DATE, "")), facts.get(DATE, ""), facts.get(PERIOD, "")]


def file_days(properties: Mapping[str, object]) -> list[str]:
    """Return the days on which a program says that it changed and created the file, as far as known."""
    return [str(properties.get(name, ""))[:10] for name in OF_FILES]


def document_date(stated: Sequence[str], modified: float) -> date | None:
    """Return the first complete or incomplete date among the ``stated`` values, otherwise the day of ``modified``."""
    dates = (_last_day(value) for value in stated)
    return next((day for day in dates if day), _day_of_change(modified))


def _day_of_change(modified: float) -> date | None:
    """Return the day of a time. Return None for 0, and for the times beyond all years that some disks can store."""
    try:
        return datetime.fromtimestamp(modified, UTC).date() if modified else None
    except (ValueError, OverflowError, OSError):
        return None


@lru_cache(maxsize=4096)  # documents share years and periods
def _last_day(stated: str) -> date | None:
    """Return the last day of an ISO date, year and month, or year. Return None if the text is none of these."""
    try:
        year, month, day = (*map(int, stated.split("-")), 0, 0)[:3]
        month = month or 12
        return date(year, month, day or monthrange(year, month)[1])
    except (ValueError, OverflowError):  # OverflowError: digits without hyphens
        return None


def document_id(path: str) -> str:
    """Return the id of the file at an absolute path. It is the same in every collection and for every content."""
    return str(uuid5(_DOCUMENT_NAMESPACE, path))


def index_version(document: str, version: str, parser: str, chunking: str) -> str:
    """Identify the chunks of one document content, parsed and chunked in one way. Returns 16 hexadecimal digits."""
    return hashlib.sha256("\n".join((document, version, parser, chunking)).encode()).hexdigest()[:16]

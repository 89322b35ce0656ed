"""What the ledger keeps of a document, and how documents and their editions are named."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID, uuid5

from pydantic import Field

from ingest.document import Block
from vectorstore.models import FrozenModel, PageSpan, Scalar

_DOCUMENT_IDS = UUID("b7d0c5a2-3b7e-5b0e-8d52-1f0c8f0a9e21")

EDITION = "edition"
"""Metadata key of every chunk: the edition of its document that it belongs to."""


class DocumentState(StrEnum):
    """How far a file has come. The first four are left by every ingest that is not killed."""

    DISCOVERED = "discovered"
    PARSING = "parsing"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    INDEXED = "indexed"
    FAILED = "failed"
    SKIPPED = "skipped"
    REMOVED = "removed"


class Stage(StrEnum):
    """What was being done with a file."""

    READING = "reading"
    PARSING = "parsing"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    STORING = "storing"


class DocumentRecord(FrozenModel):
    """One file in one collection. ``stage`` and ``reason`` say where and why it failed or was skipped."""

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
    updated_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    attempts: int = Field(default=0, description="how often it was tried since it was last indexed")
    container: str = Field(default="", description="path of the archive or message that it lies in")
    read_at: float = Field(default=0.0, description="when its content was read, seconds since 1970")

    @property
    def edition(self) -> str:
        """The edition that searches see; empty if there is none."""
        return edition_of(self.id, self.version, self.parser, self.chunking) if self.chunks else ""


class Known(NamedTuple):
    """What decides whether a file has to be read again: a record without what takes room."""

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
    def edition(self) -> str:
        """The edition that searches see; empty if there is none."""
        return edition_of(self.id, self.version, self.parser, self.chunking) if self.chunks else ""


class Count(NamedTuple):
    """How many documents there are of some kind, and how many passages of theirs are searched."""

    documents: int
    chunks: int


class DocumentText(FrozenModel):
    """The parsed text of a document with its structure: what the spans of chunks and quotes point into."""

    text: str
    blocks: tuple[Block, ...]
    pages: tuple[PageSpan, ...]


def document_id(path: str) -> str:
    """The id of the file at an absolute path: the same in every collection, whatever its content."""
    return str(uuid5(_DOCUMENT_IDS, path))


def edition_of(document: str, version: str, parser: str, chunking: str) -> str:
    """Names the chunks that one content of a document gives with one parser and one chunking."""
    return hashlib.sha256("\n".join((document, version, parser, chunking)).encode()).hexdigest()[:16]

"""The progress of an ingest, and its report."""

from __future__ import annotations

from pydantic import Field

from base.models import FrozenModel
from ingest.ledger.records import DocumentRecord, Stage
from ingest.pipeline.discovery import SkippedFile


class Progress(FrozenModel):
    """The progress of an ingest. It is published when a file changes its stage, and when chunks were stored."""

    name: str = Field(description="the current file")
    stage: Stage
    files_done: int
    files_total: int
    failed: int
    chunks: int
    tokens: int = Field(description="tokens of the chunks stored so far")
    seconds: float = Field(description="seconds since the start")
    bytes_done: int = Field(description="bytes read, of the files that have to be read")
    bytes_total: int


class WarnedDocument(FrozenModel):
    """A document that was indexed with warnings about how it was read."""

    name: str
    warnings: tuple[str, ...]


class IngestReport(FrozenModel):
    """What an ingest did. ``unchanged`` files were indexed already."""

    collection: str
    files: int
    indexed: int
    unchanged: int
    failed: tuple[DocumentRecord, ...] = Field(
        description="including files that failed before and have not changed since"
    )
    failed_before: int = Field(description="how many of the failed files were not tried again")
    left_out: tuple[SkippedFile, ...]
    warned: tuple[WarnedDocument, ...] = Field(
        default=(), description="indexed documents that were not read in full, or whose reading is uncertain"
    )
    removed: tuple[str, ...] = Field(description="names of documents whose files were deleted or moved")
    restored: int = Field(default=0, description="documents that were missing from the store and are stored again")
    chunks: int
    embedded: int = Field(description="distinct texts that had to be embedded for the chunks")
    tokens: int
    pages: int
    stage_seconds: dict[str, float] = Field(description="seconds per stage, summed over the files")
    seconds: float = Field(description="wall-clock seconds")
    slowest: tuple[DocumentRecord, ...] = Field(description="the files that took longest to read, parse and chunk")
    notices: tuple[str, ...] = ()
    cancelled: bool = Field(
        default=False, description="whether it was cancelled before all files were done; the next ingest does the rest"
    )

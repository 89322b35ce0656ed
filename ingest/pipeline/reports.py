"""What an ingest tells: how far it has come, and in the end what it did."""

from __future__ import annotations

from pydantic import Field

from ingest.ledger.records import DocumentRecord, Stage
from ingest.pipeline.discovery import LeftOut
from vectorstore.models import FrozenModel


class Progress(FrozenModel):
    """How far an ingest has come: published whenever a file changes its stage and when chunks were stored."""

    name: str = Field(description="the file it is at")
    stage: Stage
    files_done: int
    files_total: int
    failed: int
    chunks: int
    tokens: int = Field(description="in the chunks stored so far")
    seconds: float = Field(description="since the start")
    bytes_done: int = Field(description="of the files that had to be read")
    bytes_total: int


class IngestReport(FrozenModel):
    """What one call did. ``unchanged`` files were already indexed as they are."""

    collection: str
    files: int
    indexed: int
    unchanged: int
    failed: tuple[DocumentRecord, ...] = Field(description="also those that failed before and have not changed since")
    failed_before: int = Field(description="how many of the failed were not tried again")
    left_out: tuple[LeftOut, ...]
    removed: tuple[str, ...] = Field(description="names of documents that are no longer on disk, or lie elsewhere now")
    chunks: int
    embedded: int = Field(description="distinct texts that had to be embedded for them")
    tokens: int
    pages: int
    stage_seconds: dict[str, float] = Field(description="time spent per stage, summed over the files")
    seconds: float = Field(description="wall-clock time of the whole call")
    slowest: tuple[DocumentRecord, ...] = Field(description="the files that took longest to read, parse and chunk")
    notices: tuple[str, ...] = ()
    cancelled: bool = Field(default=False, description="whether it was ended early; the next ingest does the rest")

"""The progress of an ingest, its counts, and its report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import Field

from base.models import FrozenModel
from ingest.ledger.records import DocumentRecord, Publication, Stage
from ingest.pipeline.discovery import SkippedFile
from ingest.pipeline.plan import Plan


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
    pages: int = Field(default=0, description="pages of the documents that are complete")
    bytes_done: int = Field(description="bytes done, of the files that have to be read; counts within a file, too")
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
    moved: dict[str, str] = Field(default={}, description="new names of removed documents whose files were moved")
    restored: int = Field(default=0, description="documents that were missing from the store and are stored again")
    chunks: int
    embedded: int = Field(description="distinct texts that had to be embedded for the chunks")
    tokens: int
    pages: int
    stage_seconds: dict[str, float] = Field(description="seconds per stage, summed over the files")
    seconds: float = Field(description="wall-clock seconds")
    notices: tuple[str, ...] = ()
    search_note: str = Field(default="", description="what a search cannot do with these documents, and the remedy")
    cancelled: bool = Field(
        default=False, description="whether it was cancelled before all files were done; the next ingest does the rest"
    )


@dataclass
class Tally:
    """What an ingest has done so far."""

    files: int
    progress: Callable[[Progress], None] = lambda _: None
    cancelled: Callable[[], bool] = lambda: False
    bytes_total: int = 0
    started: float = field(default_factory=time.perf_counter)
    indexed: int = 0
    pages: int = 0
    unchanged: int = 0
    failed: list[DocumentRecord] = field(default_factory=list)
    failed_before: int = 0
    removed: dict[str, str] = field(default_factory=dict)  # names by id
    moved: dict[str, str] = field(default_factory=dict)
    left_out: list[SkippedFile] = field(default_factory=list)
    warned: list[WarnedDocument] = field(default_factory=list)
    chunks: int = 0
    embedded: int = 0
    tokens: int = 0
    bytes_done: float = 0
    bytes_ahead: float = 0  # in files that are not complete
    bytes_per_chunk: float = 0  # of the files that are being embedded
    stage_seconds: dict[str, float] = field(default_factory=dict)
    was_cancelled: bool = False

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def check_cancelled(self) -> bool:
        """Return whether the ingest was cancelled, and remember it."""
        self.was_cancelled = self.was_cancelled or self.cancelled()
        return self.was_cancelled

    def count_indexed(self, published: Publication) -> None:
        """Count a document that was published."""
        record, moved_from = published.record, published.moved_from
        if moved_from:
            self.removed[moved_from.id] = moved_from.name
            self.moved[moved_from.name] = record.name
        self.indexed += 1
        self.pages += record.pages
        if record.warnings:
            self.warned.append(WarnedDocument(name=record.name, warnings=record.warnings))

    def leave_out(self, record: DocumentRecord, reason: str) -> None:
        """Count a member of a container that is not ingested."""
        self.files -= 1
        self.left_out.append(SkippedFile(path=record.path, name=record.name, reason=reason))

    def count_embedded(self, name: str, texts: int) -> None:
        """Count texts that were embedded, also as a share of the bytes of their files."""
        self.embedded += texts
        self.bytes_ahead += texts * self.bytes_per_chunk
        self.report_progress(name, Stage.EMBEDDING)

    def end_file(self, size: int) -> None:
        """Count the bytes of a file that is complete."""
        self.bytes_done += size
        self.bytes_ahead = max(0.0, self.bytes_ahead - size)

    def report_progress(self, name: str, stage: Stage) -> None:
        """Call the progress callback."""
        self.progress(
            Progress(
                name=name,
                stage=stage,
                files_done=self.indexed + len(self.failed) + self.unchanged,
                files_total=self.files,
                failed=len(self.failed),
                chunks=self.chunks,
                tokens=self.tokens,
                seconds=self.seconds,
                pages=self.pages,
                bytes_done=round(self.bytes_done + self.bytes_ahead),
                bytes_total=self.bytes_total,
            )
        )

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add_seconds(stage, time.perf_counter() - started)

    def add_seconds(self, stage: str, seconds: float) -> None:
        """Add seconds to a stage."""
        self.stage_seconds[stage] = self.stage_seconds.get(stage, 0.0) + seconds

    def report(self, plan: Plan) -> IngestReport:
        """Return the report of the ingest."""
        return IngestReport(
            collection=plan.collection,
            files=self.files,
            indexed=self.indexed,
            unchanged=self.unchanged,
            failed=tuple(self.failed),
            failed_before=self.failed_before,
            left_out=(*plan.left_out, *self.left_out),
            warned=tuple(self.warned),
            removed=tuple(self.removed.values()),
            moved=self.moved,
            chunks=self.chunks,
            embedded=self.embedded,
            tokens=self.tokens,
            pages=self.pages,
            stage_seconds={stage: round(seconds, 3) for stage, seconds in self.stage_seconds.items()},
            seconds=round(self.seconds, 3),
            notices=plan.notices,
            cancelled=self.was_cancelled,
        )

"""The state of one ingest: what it has done, and the files that it is working on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from ingest.ledger.records import DocumentRecord, DocumentSummary, Stage, document_id
from ingest.pipeline.discovery import FoundFile, SkippedFile
from ingest.pipeline.open_container import OpenContainer
from ingest.pipeline.parse_file import ParseResult
from ingest.pipeline.plan import Plan, PlannedFile
from ingest.pipeline.reports import IngestReport, Progress, WarnedDocument
from vectorstore.models import Chunk


@dataclass
class DocumentInProgress:
    """A file that was started and is not in a terminal state yet."""

    found: FoundFile
    id: str
    size: int
    previous: DocumentSummary | None
    attempts: int
    reread: bool = False  # parse it even if its content has not changed
    result: ParseResult = field(default_factory=ParseResult)
    unpacking: OpenContainer | None = None
    moved_from: DocumentSummary | None = None
    chunks: list[Chunk] = field(default_factory=list)
    tokens: int = 0
    chunks_left: int = 0  # not stored yet

    def close(self) -> None:
        """Remove the extracted members of a container."""
        if self.unpacking:
            self.unpacking.close()
            self.unpacking = None


@dataclass
class IngestState:
    """What one ingest has done so far."""

    plan: Plan
    known: Mapping[str, DocumentSummary]
    progress: Callable[[Progress], None]
    started: float
    cancelled: Callable[[], bool] = lambda: False
    move_candidates: dict[str, list[DocumentSummary]] = field(default_factory=dict)
    members: dict[str, list[DocumentSummary]] = field(default_factory=dict)  # known ones, by path of their container
    containers: dict[str, DocumentInProgress] = field(default_factory=dict)  # those being unpacked, by path
    files: int = 0
    waiting: list[DocumentInProgress] = field(default_factory=list)  # to be embedded
    finished: list[DocumentInProgress] = field(default_factory=list)  # not yet counted off their containers
    indexed: int = 0
    pages: int = 0
    unchanged: int = 0
    failed: list[DocumentRecord] = field(default_factory=list)
    failed_before: int = 0
    removed: dict[str, str] = field(default_factory=dict)  # names by id
    slowest: list[DocumentRecord] = field(default_factory=list)
    left_out: list[SkippedFile] = field(default_factory=list)
    warned: list[WarnedDocument] = field(default_factory=list)
    chunks: int = 0
    embedded: int = 0
    tokens: int = 0
    bytes_done: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    was_cancelled: bool = False

    def check_cancelled(self) -> bool:
        """Return whether the ingest was cancelled, and remember it."""
        self.was_cancelled = self.was_cancelled or self.cancelled()
        return self.was_cancelled

    def count_unchanged(self, name: str) -> None:
        """Count a file whose content is already indexed."""
        self.unchanged += 1
        self.report_progress(name, Stage.READING)

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
                seconds=time.perf_counter() - self.started,
                bytes_done=self.bytes_done,
                bytes_total=self.bytes_total,
            )
        )

    @cached_property
    def to_read(self) -> list[PlannedFile]:
        """The files that have to be opened."""
        return [planned for planned in self.plan.files if planned.is_read]

    @cached_property
    def bytes_total(self) -> int:
        """The total size of the files that have to be opened."""
        return sum(planned.size for planned in self.to_read)

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
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def report(self) -> IngestReport:
        """Return the report of the ingest."""
        return IngestReport(
            collection=self.plan.collection,
            files=self.files,
            indexed=self.indexed,
            unchanged=self.unchanged,
            failed=tuple(self.failed),
            failed_before=self.failed_before,
            left_out=(*self.plan.left_out, *self.left_out),
            warned=tuple(self.warned),
            removed=tuple(self.removed.values()),
            chunks=self.chunks,
            embedded=self.embedded,
            tokens=self.tokens,
            pages=self.pages,
            stage_seconds={stage: round(seconds, 3) for stage, seconds in self.seconds.items()},
            seconds=round(time.perf_counter() - self.started, 3),
            slowest=tuple(self.slowest),
            notices=self.plan.notices,
            cancelled=self.was_cancelled,
        )


def move_candidates(plan: Plan, known: Mapping[str, DocumentSummary]) -> dict[str, list[DocumentSummary]]:
    """Return the indexed documents that were not found, by content: their files may have been moved."""
    found = {document_id(planned.file.document) for planned in plan.files}
    candidates: dict[str, list[DocumentSummary]] = {}
    for entry in known.values():
        if entry.chunks and entry.id not in found:
            candidates.setdefault(entry.version, []).append(entry)
    return candidates


def group_members(known: Mapping[str, DocumentSummary]) -> dict[str, list[DocumentSummary]]:
    """Return the known members of containers, by the container's path."""
    members: dict[str, list[DocumentSummary]] = {}
    for entry in known.values():
        if entry.container:
            members.setdefault(entry.container, []).append(entry)
    return members

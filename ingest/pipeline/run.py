"""What one ingest has done so far, and the files on their way through it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from ingest.ledger.records import DocumentRecord, Known, Stage, document_id
from ingest.pipeline.discovery import FoundFile, LeftOut
from ingest.pipeline.open_container import OpenContainer
from ingest.pipeline.parse_file import Reading
from ingest.pipeline.plan import Plan, PlannedFile
from ingest.pipeline.reports import IngestReport, Progress
from vectorstore.models import Chunk


@dataclass
class Document:
    """A file on its way."""

    found: FoundFile
    id: str
    size: int
    previous: Known | None
    attempts: int
    reread: bool = False  # even if its content is known
    reading: Reading = field(default_factory=Reading)
    unpacking: OpenContainer | None = None
    moved_from: Known | None = None
    chunks: list[Chunk] = field(default_factory=list)
    tokens: int = 0
    left: int = 0  # chunks not stored yet

    def close(self) -> None:
        """Of a container: remove what was taken out of it."""
        if self.unpacking:
            self.unpacking.close()
            self.unpacking = None


@dataclass
class Run:
    """What one call has done so far."""

    plan: Plan
    known: Mapping[str, Known]
    progress: Callable[[Progress], None]
    started: float
    cancelled: Callable[[], bool] = lambda: False
    movable: dict[str, list[Known]] = field(default_factory=dict)
    members: dict[str, list[Known]] = field(default_factory=dict)  # of known containers, by their paths
    containers: dict[str, Document] = field(default_factory=dict)  # those being unpacked, by their paths
    files: int = 0
    waiting: list[Document] = field(default_factory=list)  # to be embedded
    ended: list[Document] = field(default_factory=list)  # what lay in a container may have been its last
    indexed: int = 0
    pages: int = 0
    unchanged: int = 0
    failed: list[DocumentRecord] = field(default_factory=list)
    failed_before: int = 0
    removed: dict[str, str] = field(default_factory=dict)  # names by id
    slowest: list[DocumentRecord] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    chunks: int = 0
    embedded: int = 0
    tokens: int = 0
    bytes_done: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    ended_early: bool = False

    def ends_early(self) -> bool:
        """Whether it was cancelled while there may be files left to begin."""
        self.ended_early = self.ended_early or self.cancelled()
        return self.ended_early

    def publish(self, name: str, stage: Stage) -> None:
        """Tell whoever watches."""
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
        """How much is to be read."""
        return sum(planned.size for planned in self.to_read)

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Add to the time of a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.spend(stage, time.perf_counter() - started)

    def spend(self, stage: str, seconds: float) -> None:
        """Add to the time of a stage what was measured elsewhere."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def report(self) -> IngestReport:
        """What was done."""
        return IngestReport(
            collection=self.plan.collection,
            files=self.files,
            indexed=self.indexed,
            unchanged=self.unchanged,
            failed=tuple(self.failed),
            failed_before=self.failed_before,
            left_out=(*self.plan.left_out, *self.left_out),
            removed=tuple(self.removed.values()),
            chunks=self.chunks,
            embedded=self.embedded,
            tokens=self.tokens,
            pages=self.pages,
            stage_seconds={stage: round(seconds, 3) for stage, seconds in self.seconds.items()},
            seconds=round(time.perf_counter() - self.started, 3),
            slowest=tuple(self.slowest),
            notices=self.plan.notices,
            cancelled=self.ended_early,
        )


def movable(plan: Plan, known: Mapping[str, Known]) -> dict[str, list[Known]]:
    """By content: the documents that may have been moved to where a file was found now."""
    found = {document_id(planned.file.document) for planned in plan.files}
    former: dict[str, list[Known]] = {}
    for entry in known.values():
        if entry.chunks and entry.id not in found:
            former.setdefault(entry.version, []).append(entry)
    return former


def members_of_containers(known: Mapping[str, Known]) -> dict[str, list[Known]]:
    """By the path of their container: what lies in it."""
    members: dict[str, list[Known]] = {}
    for entry in known.values():
        if entry.container:
            members.setdefault(entry.container, []).append(entry)
    return members

"""A file during an ingest: what was found and read of it so far, and the members of an open container.

The record of a container is written after those of its members. An ingest that was killed before opens it again.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ingest.containers.entries import ContainerKind
from ingest.containers.unpack import REST, ContainerLimits, Member
from ingest.document import ParsedDocument
from ingest.errors import FileError
from ingest.ledger.records import DocumentRecord, DocumentState, DocumentSummary, Publication, Stage, index_version
from ingest.pipeline.discovery import FoundFile
from ingest.pipeline.rules import no_document
from vectorstore.models import Chunk

Unpack = Callable[[Path, ContainerLimits, Path], Iterator[Member]]
"""Writes the members of a container into a folder, as ``ingest.containers.unpack.expand`` does."""
HIDDEN = "hidden"
"""The reason for hidden members. They are skipped, as are members that are no documents; other members have failed."""


@dataclass(eq=False)
class IngestFile:
    """A file that was started. ``version`` to ``error`` are set when it has been read.

    Then it is unchanged, has a ``parsed`` document, is a ``container`` (or both), or has an ``error``.
    """

    found: FoundFile
    parser: str
    """The version of its parser, as stored with the document."""
    chunking: str
    size: int = 0
    """Bytes that the plan counts; 0 for members of containers."""
    previous: DocumentSummary | None = None
    attempts: int = 1
    reread: bool = False
    """Parse it even if its content has not changed."""
    holder: OpenContainer | None = None
    """The container that it is in."""
    version: str = ""
    bytes_read: int = 0
    modified: float = 0.0
    read_at: float = 0.0
    stage: Stage = Stage.READING
    seconds: dict[str, float] = field(default_factory=dict)
    is_unchanged: bool = False
    parsed: ParsedDocument | None = None
    container: ContainerKind | None = None
    chunks: list[Chunk] = field(default_factory=list)
    error: FileError | None = None
    moved_from: DocumentSummary | None = None
    """The document with the same content whose file is missing."""
    members: OpenContainer | None = None
    """The members of an open container."""

    @property
    def id(self) -> str:
        """The id of its document."""
        return self.found.id

    @property
    def is_indexed(self) -> bool:
        """Whether an earlier version of the file is searchable."""
        return bool(self.previous and self.previous.chunks)

    @property
    def index_version(self) -> str:
        """The indexed version of its chunks."""
        return index_version(self.id, self.version, self.parser, self.chunking)

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Set the stage, and add the elapsed time to its seconds."""
        self.stage = stage
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - started

    def record(self, collection: str) -> DocumentRecord:
        """Return the record of the indexed document. Its tokens are counted when it is stored."""
        parsed = self.parsed
        return DocumentRecord(
            collection=collection,
            id=self.id,
            path=self.found.document,
            name=self.found.name,
            state=DocumentState.INDEXED,
            stage=Stage.STORING,
            version=self.version,
            size=self.bytes_read,
            modified=self.modified,
            mime_type=parsed.mime_type if parsed else "",
            title=self.chunks[0].title if self.chunks else "",
            pages=len({page.number for page in parsed.pages}) if parsed else 0,
            chunks=len(self.chunks),
            parser=self.parser,
            chunking=self.chunking,
            seconds=self.seconds,
            warnings=parsed.warnings if parsed else (),
            metadata=parsed.metadata if parsed else {},
            facts=parsed.facts if parsed else {},
            attempts=self.attempts,
            container=self.found.container,
            read_at=self.read_at,
        )

    def publication(self, collection: str) -> Publication:
        """Return the document with what it replaces."""
        superseded = self.previous.index_version if self.previous else ""
        fields = self.parsed.fields if self.parsed else {}
        return Publication(self.record(collection), self.parsed, superseded, self.moved_from, self.chunks, fields)


class OpenContainer:
    """The members of one container as files to ingest. ``close`` removes the copies."""

    def __init__(self, file: IngestFile, limits: ContainerLimits, unpack: Unpack) -> None:
        self.file = file
        self.unfinished = 0
        """The number of members that were given out and are not in a terminal state yet."""
        self._is_exhausted = False
        self._is_complete = True
        """Whether all members were listed."""
        self.seen: set[str] = set()
        """Paths of the members."""
        self._folder = tempfile.mkdtemp(prefix="candor-")
        self._members: Iterator[Member] = unpack(file.found.path, limits, Path(self._folder))
        self._read: list[Path] = []

    @property
    def is_open(self) -> bool:
        """Whether it may have more members."""
        return not (self._is_exhausted or self.file.error)

    @property
    def is_finished(self) -> bool:
        """Whether all its members are in a terminal state."""
        return not (self.is_open or self.unfinished)

    def next(self) -> tuple[FoundFile, str] | None:
        """Return the next member, with the reason if it was not extracted, or None. Raises CorruptDocument."""
        member = next(self._members, None)
        self._remove_read()
        if member is None:
            self._is_exhausted = True
            return None
        if member.name.endswith(REST):
            self._is_complete = False
        container = self.file.found
        document = f"{container.document}/{member.name}"
        self.seen.add(document)
        path, name = member.path or Path(member.name), f"{container.name}/{member.name}"
        reason = member.reason or no_document(member.name)
        if member.path and reason:
            self._read.append(member.path)
        return FoundFile(path=path, document=document, name=name, container=container.document), reason

    def has_lost(self, known: DocumentSummary) -> bool:
        """Return whether a known member is no longer in it."""
        return self._is_complete and known.path not in self.seen and known.state is not DocumentState.REMOVED

    def release(self, file: FoundFile) -> None:
        """Mark the copy of a member as read. It is removed after the next member, because it may contain members."""
        self._read.append(file.path)

    def close(self) -> None:
        """Remove all copies."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _remove_read(self) -> None:
        for path in self._read:
            path.unlink(missing_ok=True)
        self._read.clear()

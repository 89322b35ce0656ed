"""From files to a searchable collection: read, parse, chunk, embed, store, and note in the ledger what became of each.

One bad file never stops the rest; a store or a ledger that fails stops everything, with all finished files kept.
"""

from __future__ import annotations

import hashlib
import stat
import time
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field

from ingest.chunking import Chunker, Source
from ingest.discovery import FoundFile, LeftOut, discover, printable
from ingest.errors import FileError, FileTooLarge, NothingToIngest, UnreadableFile
from ingest.ledger import DocumentRecord, DocumentState, Ledger, Stage, document_id
from ingest.parser import ParsedDocument, Parser
from ingest.settings import IngestSettings
from vectorstore.embedding import Embedder
from vectorstore.models import Chunk, ChunkFilter, Value
from vectorstore.store import Collection

EDITION = "edition"
"""Metadata key of every chunk: which content, parser and chunking it comes from. Tells old chunks from new ones."""

_OPTIMIZE_FROM = 1000  # chunks written in one run, from which rebuilding the indexes pays
_READ_SIZE = 1 << 20


class Progress(Value):
    """How far an ingest has come: published whenever a file changes its stage and when chunks were stored."""

    name: str = Field(description="the file it is at")
    stage: Stage
    files_done: int
    files_total: int
    failed: int
    chunks: int
    tokens: int


class IngestReport(Value):
    """What one call did. ``unchanged`` files were already indexed as they are."""

    collection: str
    files: int
    indexed: int
    unchanged: int
    failed: tuple[DocumentRecord, ...]
    left_out: tuple[LeftOut, ...]
    chunks: int
    tokens: int
    pages: int
    stage_seconds: dict[str, float] = Field(description="time spent per stage, summed over the files")
    seconds: float = Field(description="wall-clock time of the whole call")


@dataclass
class _Document:
    """A file on its way."""

    found: FoundFile
    id: str
    previous: DocumentRecord | None
    version: str = ""
    size: int = 0
    modified: float = 0.0
    parsed: ParsedDocument | None = None
    chunks: list[Chunk] = field(default_factory=list)
    tokens: int = 0
    stage: Stage = Stage.READING
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass
class _Run:
    """What one call has done so far."""

    files: int
    progress: Callable[[Progress], None]
    started: float = field(default_factory=time.perf_counter)
    waiting: list[_Document] = field(default_factory=list)
    indexed: list[DocumentRecord] = field(default_factory=list)
    failed: list[DocumentRecord] = field(default_factory=list)
    unchanged: int = 0
    chunks: int = 0
    tokens: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def publish(self, name: str, stage: Stage) -> None:
        """Tell whoever watches."""
        self.progress(
            Progress(
                name=name,
                stage=stage,
                files_done=len(self.indexed) + len(self.failed) + self.unchanged,
                files_total=self.files,
                failed=len(self.failed),
                chunks=self.chunks,
                tokens=self.tokens,
            )
        )


class IngestPipeline:
    """Ingests into one open collection. Everything it works with is handed in."""

    def __init__(
        self,
        *,
        parser: Parser,
        chunker: Chunker,
        embedder: Embedder,
        collection: Collection,
        ledger: Ledger,
        settings: IngestSettings,
    ) -> None:
        self._parser = parser
        self._chunker = chunker
        self._embedder = embedder
        self._collection = collection
        self._ledger = ledger
        self._settings = settings

    def ingest(self, paths: Sequence[Path], progress: Callable[[Progress], None] = lambda _: None) -> IngestReport:
        """Ingest files and folders.

        Raises PathNotFound and NothingToIngest before anything is done, StoreError and LedgerUnavailable when the
        rest cannot be done; what is wrong with single files stands in the report and in the ledger.
        """
        found = list(discover(paths))
        files = [entry for entry in found if isinstance(entry, FoundFile)]
        if not files:
            raise NothingToIngest(f"There is no file to ingest in {', '.join(str(path) for path in paths)}.")
        run = _Run(files=len(files), progress=progress)
        for file in files:
            self._prepare(file, run)
            if sum(len(document.chunks) for document in run.waiting) >= self._settings.embed_batch:
                self._store_waiting(run)
        self._store_waiting(run)
        if run.chunks >= _OPTIMIZE_FROM:
            with _timed(run.seconds, Stage.STORING):
                self._collection.optimize()
        return self._report(run, tuple(entry for entry in found if isinstance(entry, LeftOut)))

    # One file: read, parse, chunk

    def _prepare(self, file: FoundFile, run: _Run) -> None:
        """Bring a file up to its chunks, unless it is unchanged; note it in the ledger if that fails."""
        identity = document_id(file.document)
        document = _Document(file, identity, previous=self._ledger.get(self._collection.spec.name, identity))
        try:
            with self._stage(document, Stage.READING, run):
                _read(document, self._settings.max_file_mb)
            if self._is_unchanged(document):
                self._note_unchanged(document, run)
                return
            with self._stage(document, Stage.PARSING, run):
                document.parsed = self._parser.parse(file.path)
            with self._stage(document, Stage.CHUNKING, run):
                document.chunks = self._chunks(document, document.parsed)
        except FileError as error:
            self._note_failure(document, error, run)
        else:
            run.waiting.append(document)

    @contextmanager
    def _stage(self, document: _Document, stage: Stage, run: _Run) -> Iterator[None]:
        document.stage = stage
        run.publish(document.found.name, stage)
        with _timed(run.seconds, stage), _timed(document.seconds, stage):
            yield

    def _is_unchanged(self, document: _Document) -> bool:
        previous = document.previous
        return (
            previous is not None
            and previous.state is DocumentState.INDEXED
            and (previous.version, previous.parser, previous.chunking)
            == (document.version, self._parser.version, self._chunker.fingerprint)
        )

    def _note_unchanged(self, document: _Document, run: _Run) -> None:
        if document.previous and (document.previous.name, document.previous.modified) != (
            document.found.name,
            document.modified,
        ):
            self._ledger.touch(document.previous, name=document.found.name, modified=document.modified)
        run.unchanged += 1
        run.publish(document.found.name, Stage.READING)

    def _chunks(self, document: _Document, parsed: ParsedDocument) -> list[Chunk]:
        """The document's chunks, marked with their edition."""
        edition = _edition(document.version, self._parser.version, self._chunker.fingerprint)
        source = Source(
            document_id=document.id, path=document.found.document, name=document.found.name, version=document.version
        )
        marked = parsed.model_copy(update={"metadata": {**parsed.metadata, EDITION: edition}})
        return self._chunker.chunk(marked, source)

    def _note_failure(self, document: _Document, error: FileError, run: _Run) -> None:
        """Record the reason. What was indexed of the file before stays searchable, and the record keeps saying so."""
        outcome = {
            "state": DocumentState.FAILED,
            "stage": document.stage,
            "reason": printable(str(error)),
            "seconds": document.seconds,
            "updated_at": datetime.now(UTC),
        }
        if document.previous and document.previous.chunks:
            record = document.previous.model_copy(update=outcome)
        else:
            record = self._record(document).model_copy(update=outcome)
        self._ledger.record(record)
        run.failed.append(record)
        run.publish(document.found.name, document.stage)

    # Many files: embed, store

    def _store_waiting(self, run: _Run) -> None:
        """Embed and store the chunks of all waiting documents together, then note the documents as indexed."""
        documents, run.waiting = run.waiting, []
        chunks = [chunk for document in documents for chunk in document.chunks]
        for start in range(0, len(chunks), self._settings.embed_batch):
            self._store(chunks[start : start + self._settings.embed_batch], run)
        for document in documents:
            self._finish(document, run)

    def _store(self, chunks: Sequence[Chunk], run: _Run) -> None:
        texts = [chunk.embedded_text for chunk in chunks]
        distinct = list(dict.fromkeys(texts))
        run.publish(chunks[0].name, Stage.EMBEDDING)
        with _timed(run.seconds, Stage.EMBEDDING):
            rows = {text: row for row, text in enumerate(distinct)}
            vectors = self._embedder.embed_passages(distinct)[[rows[text] for text in texts]]
        with _timed(run.seconds, Stage.STORING):
            self._collection.upsert(chunks, vectors)
        run.chunks += len(chunks)
        run.publish(chunks[-1].name, Stage.STORING)

    def _finish(self, document: _Document, run: _Run) -> None:
        """Remove what the document had before, once the new is there, and record it."""
        document.tokens = sum(self._embedder.count_tokens([chunk.embedded_text for chunk in document.chunks]))
        run.tokens += document.tokens
        record = self._record(document)
        with _timed(run.seconds, Stage.STORING):
            self._remove_previous(document, record)
            self._ledger.record(record, document.parsed)
        run.indexed.append(record)
        run.publish(document.found.name, Stage.STORING)

    def _remove_previous(self, document: _Document, record: DocumentRecord) -> None:
        previous = document.previous
        if previous is None or not previous.chunks:
            return
        edition = _edition(previous.version, previous.parser, previous.chunking)
        if edition != _edition(record.version, record.parser, record.chunking):
            self._collection.delete(ChunkFilter(documents=(document.id,), metadata={EDITION: edition}))

    def _record(self, document: _Document) -> DocumentRecord:
        parsed = document.parsed
        return DocumentRecord(
            collection=self._collection.spec.name,
            id=document.id,
            path=document.found.document,
            name=document.found.name,
            state=DocumentState.INDEXED,
            stage=Stage.STORING,
            version=document.version,
            size=document.size,
            modified=document.modified,
            mime_type=parsed.mime_type if parsed else "",
            title=document.chunks[0].title if document.chunks else "",
            pages=len(parsed.pages) if parsed else 0,
            chunks=len(document.chunks),
            tokens=document.tokens,
            parser=self._parser.version,
            chunking=self._chunker.fingerprint,
            seconds=document.seconds,
            warnings=parsed.warnings if parsed else (),
            metadata=parsed.metadata if parsed else {},
        )

    def _report(self, run: _Run, left_out: tuple[LeftOut, ...]) -> IngestReport:
        return IngestReport(
            collection=self._collection.spec.name,
            files=run.files,
            indexed=len(run.indexed),
            unchanged=run.unchanged,
            failed=tuple(run.failed),
            left_out=left_out,
            chunks=run.chunks,
            tokens=run.tokens,
            pages=sum(record.pages for record in run.indexed),
            stage_seconds={stage: round(seconds, 3) for stage, seconds in run.seconds.items()},
            seconds=round(time.perf_counter() - run.started, 3),
        )


def _read(document: _Document, max_file_mb: int) -> None:
    """Hash the file; refuse what is too large or will not open."""
    path = document.found.path
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile(f"{document.found.document} cannot be read: it is a folder that will not open.")
        if status.st_size > max_file_mb * 2**20:
            raise FileTooLarge(
                f"{document.found.document} has {status.st_size / 2**20:,.0f} MB; the limit is {max_file_mb} MB. "
                "Split it, or raise max_file_mb."
            )
        with path.open("rb") as content:
            document.version = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableFile(
            f"{document.found.document} cannot be read: {error.strerror}. Check its rights and where it links to."
        ) from error
    document.size, document.modified = status.st_size, status.st_mtime


def _edition(version: str, parser: str, chunking: str) -> str:
    return hashlib.sha256("\n".join((version, parser, chunking)).encode()).hexdigest()[:16]


@contextmanager
def _timed(seconds: MutableMapping[str, float], stage: Stage) -> Iterator[None]:
    started = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - started

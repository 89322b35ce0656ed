"""From files to a searchable collection: read, parse, chunk, embed, store, and note in the ledger what became of each.

One bad file never stops the rest; a store or a ledger that fails stops everything, with all finished files kept. Files
are read and parsed ahead in threads, beside the embedding. Killed at any point, the next ingest goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from ingest.chunking import Chunker, Source
from ingest.containers import ContainerLimits
from ingest.discovery import FoundFile, LeftOut, discover, printable
from ingest.editions import chunk_id, chunks_of, remove_document, sweep
from ingest.errors import FileError, NothingToIngest
from ingest.ledger import (
    EDITION,
    DocumentRecord,
    DocumentState,
    Known,
    Ledger,
    Stage,
    document_id,
    edition_of,
)
from ingest.parser import OcrMode, ParsedDocument, Parser
from ingest.planning import Making, Plan, PlannedFile, Verdict, is_gone, make_plan
from ingest.reading import Reading, defects_cost_one_file, read
from ingest.reports import IngestReport, Progress
from ingest.settings import IngestSettings
from ingest.unpacking import HIDDEN, Unpacking
from ingest.writing import ChunkWriter
from vectorstore.embedding import Embedder
from vectorstore.models import Chunk, ChunkFilter
from vectorstore.store import Collection

_OPTIMIZE_FROM = 1000  # chunks written in one run, from which rebuilding the indexes pays
_AHEAD = 2  # files read ahead per thread: bounds what parsed documents take of memory
_SLOWEST = 5
_UNFINISHED = {DocumentState.DISCOVERED, DocumentState.PARSING, DocumentState.CHUNKING, DocumentState.EMBEDDING}


@dataclass
class _Document:
    """A file on its way."""

    found: FoundFile
    id: str
    size: int
    previous: Known | None
    attempts: int
    reread: bool = False  # even if its content is known
    reading: Reading = field(default_factory=Reading)
    unpacking: Unpacking | None = None
    moved_from: Known | None = None
    chunks: list[Chunk] = field(default_factory=list)
    tokens: int = 0
    left: int = 0  # chunks not stored yet


@dataclass
class _Run:
    """What one call has done so far."""

    plan: Plan
    known: dict[str, Known]
    progress: Callable[[Progress], None]
    started: float
    movable: dict[str, list[Known]] = field(default_factory=dict)
    members: dict[str, list[Known]] = field(default_factory=dict)  # of known containers, by their paths
    containers: dict[str, _Document] = field(default_factory=dict)  # those being unpacked, by their paths
    files: int = 0
    waiting: list[_Document] = field(default_factory=list)
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


class IngestPipeline:
    """Ingests into one open collection. Everything it works with is handed in.

    ``parse_threads`` call the parser at the same time; more than one is for a parser that allows it. ``own`` is the
    folder of Candor's own data, which is not ingested with the folder that it lies in. ``check`` raises, before
    anything is written to the store, if this process may not write to the collection any more.
    """

    def __init__(
        self,
        *,
        parser: Parser,
        chunker: Chunker,
        embedder: Embedder,
        collection: Collection,
        ledger: Ledger,
        settings: IngestSettings,
        parse_threads: int = 1,
        own: Path | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._parser = parser
        self._check = check
        self._own = own
        self._chunker = chunker
        self._embedder = embedder
        self._collection = collection
        self._name = collection.spec.collection
        self._ledger = ledger
        self._settings = settings
        self._threads = parse_threads
        self._making = making(parser, chunker, settings)
        self._writer = ChunkWriter(embedder, collection, ledger, self._name)

    def ingest(
        self,
        paths: Sequence[Path],
        progress: Callable[[Progress], None] = lambda _: None,
        *,
        retry_failed: bool = False,
        sync: bool = False,
        on_plan: Callable[[Plan], None] = lambda _: None,
    ) -> IngestReport:
        """Ingest files and folders; without paths, and with ``retry_failed``, those that failed.

        ``sync`` removes documents that have gone from below the paths; ``on_plan`` is told what will be done before
        it is. Raises PathNotFound and NothingToIngest before anything is done, StoreError and LedgerUnavailable when
        the rest cannot be done; what is wrong with single files stands in the report and in the ledger.
        """
        started = time.perf_counter()
        known = self._ledger.snapshot(self._name)
        plan = plan_ingest(self._name, paths, known, self._making, own=self._own, retry_failed=retry_failed, sync=sync)
        on_plan(plan)
        run = _Run(plan, known, progress, started, _movable(plan, known), _members(known), files=len(plan.files))
        self._note_discovered(run)
        self._note_settled(run)
        try:
            self._read_all(run)
        finally:
            for container in run.containers.values():
                self._close(container)
        self._clean_up(run)
        return self._report(run)

    # Before anything is read

    def _note_discovered(self, run: _Run) -> None:
        """Give every new file, and everything left out, its place in the ledger."""
        files = [
            DocumentRecord(
                collection=self._name, id=document_id(planned.file.document), path=planned.file.document,
                name=planned.file.name, state=DocumentState.DISCOVERED, stage=Stage.READING, size=planned.size,
                container=planned.file.container,
            )
            for planned in run.plan.files
            if planned.verdict is Verdict.NEW
        ]  # fmt: skip
        skipped = [
            DocumentRecord(
                collection=self._name, id=document_id(entry.path), path=entry.path, name=entry.name,
                state=DocumentState.SKIPPED, stage=Stage.READING, reason=entry.reason,
            )
            for entry in run.plan.left_out
            if document_id(entry.path) not in run.known
        ]  # fmt: skip
        self._ledger.discover([*files, *skipped])

    def _note_settled(self, run: _Run) -> None:
        """Count the files that need not be opened."""
        for planned in run.plan.files:
            known = run.known.get(document_id(planned.file.document))
            if known and planned.verdict is Verdict.UNCHANGED:
                self._note_unchanged(planned.file, known, known.modified, known.read_at, run)
                self._note_settled_members(run.members.get(known.path, []), run)
            elif known and planned.verdict is Verdict.KNOWN_FAILURE:
                self._note_known_failure(known, run)

    def _note_settled_members(self, members: Sequence[Known], run: _Run) -> None:
        """Count what lies in an unchanged container."""
        for member in members:
            if member.state is DocumentState.FAILED:
                run.files += 1
                self._note_known_failure(member, run)
            elif member.state is DocumentState.INDEXED:
                run.files += 1
                run.unchanged += 1

    def _note_known_failure(self, known: Known, run: _Run) -> None:
        record = self._ledger.get(self._name, known.id)
        run.failed.extend([record] if record else [])
        run.failed_before += 1

    def _note_unchanged(self, file: FoundFile, known: Known, modified: float, read_at: float, run: _Run) -> None:
        if (known.state, known.name, known.modified, known.read_at) != (
            DocumentState.INDEXED, file.name, modified, read_at
        ):  # fmt: skip
            self._ledger.touch(self._name, known.id, name=file.name, modified=modified, read_at=read_at)
        run.unchanged += 1
        run.publish(file.name, Stage.READING)

    # One file: read, parse, chunk

    def _read_all(self, run: _Run) -> None:
        """Read every file that has to be read, and embed whenever enough chunks have come together."""
        for document in self._readings(run):
            self._take(document, run)
            if sum(len(waiting.chunks) for waiting in run.waiting) >= self._settings.embed_batch:
                self._store_waiting(run)
        while run.waiting:  # a message comes to wait when the last file attached to it was stored
            self._store_waiting(run)

    def _readings(self, run: _Run) -> Iterator[_Document]:
        """The files with what reading them gave, as they are done; some are read ahead while one is worked on."""
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="parse")
        pending: dict[Future[Reading], _Document] = {}
        upcoming = iter(run.to_read)
        try:
            while True:
                while len(pending) < self._threads * _AHEAD and (document := self._next(upcoming, run)):
                    pending[pool.submit(self._read, document)] = document
                if not pending:
                    return
                yield from _done(pending)
        finally:
            pool.shutdown(cancel_futures=True)

    def _next(self, upcoming: Iterator[PlannedFile], run: _Run) -> _Document | None:
        """The next file to be read: of the containers that are open, else of those that were found."""
        for container in list(run.containers.values()):
            if member := self._next_member(container, run):
                return member
        planned = next(upcoming, None)
        return self._start(planned.file, planned.size, planned.verdict, run) if planned else None

    def _start(self, file: FoundFile, size: int, verdict: Verdict, run: _Run) -> _Document:
        identity = document_id(file.document)
        known = run.known.get(identity)
        tried = known.attempts if known and known.state in {DocumentState.FAILED, *_UNFINISHED} else 0
        document = _Document(file, identity, size, known, attempts=tried + 1, reread=verdict is Verdict.RETRY)
        self._advance(document, DocumentState.PARSING, Stage.READING, run)
        return document

    # Containers: archives, and messages with files attached

    def _unpack(self, document: _Document, run: _Run) -> None:
        """Read the files in it next; it is done when they are."""
        limits = ContainerLimits(member_mb=self._settings.max_file_mb)
        document.unpacking = Unpacking(document.found, limits)
        run.containers[document.found.document] = document

    def _next_member(self, container: _Document, run: _Run) -> _Document | None:
        """The next file of the container that can be read; None after the last, when the container may be done."""
        unpacking = container.unpacking
        try:
            while unpacking and self._is_open(container) and (member := self._taken_out(container, unpacking)):
                file, reason = member
                run.files += 1
                if not reason:
                    unpacking.open += 1
                    self._note_member(file, DocumentState.DISCOVERED, "", run)
                    return self._start(file, 0, Verdict.NEW, run)
                state = DocumentState.SKIPPED if reason == HIDDEN else DocumentState.FAILED
                self._note_member(file, state, f"{file.document} is not taken out: {reason}.", run)
        except FileError as error:  # what came out before is read all the same
            container.reading.error = error
        self._close_if_done(container, run)
        return None

    def _is_open(self, container: _Document) -> bool:
        return bool(container.unpacking and not container.unpacking.exhausted and not container.reading.error)

    def _taken_out(self, container: _Document, unpacking: Unpacking) -> tuple[FoundFile, str] | None:
        container.reading.stage = Stage.PARSING
        with defects_cost_one_file(container.found, container.reading):
            return unpacking.next()

    def _note_member(self, file: FoundFile, state: DocumentState, reason: str, run: _Run) -> None:
        """Note that it was found, unless it is known, or why it was not taken out."""
        identity = document_id(file.document)
        known = run.known.get(identity)
        if state is DocumentState.DISCOVERED and known and known.state not in (
            DocumentState.REMOVED, DocumentState.SKIPPED
        ):  # fmt: skip
            return
        record = DocumentRecord(
            collection=self._name, id=identity, path=file.document, name=file.name, state=state,
            stage=Stage.READING, reason=reason, container=file.container,
        )  # fmt: skip
        self._ledger.discover([record])
        if state is DocumentState.FAILED:
            run.failed.append(record)
        elif state is DocumentState.SKIPPED:
            run.files -= 1
            run.left_out.append(LeftOut(path=file.document, name=file.name, reason=HIDDEN))

    def _settle(self, document: _Document, run: _Run) -> None:
        """A file has come to its end; the container that it lay in may have, too."""
        container = run.containers.get(document.found.container)
        if container and container.unpacking:
            container.unpacking.open -= 1
            self._close_if_done(container, run)

    def _close_if_done(self, container: _Document, run: _Run) -> None:
        """When all that is in it is done: drop what is there no more, then go on with the container itself."""
        unpacking = container.unpacking
        if unpacking is None or unpacking.open or self._is_open(container):
            return
        self._close(run.containers.pop(container.found.document))
        if container.reading.error:
            self._note_failure(container, container.reading.error, run)
            return
        for member in run.members.get(container.found.document, []) if unpacking.complete else []:
            if member.path not in unpacking.seen and member.state is not DocumentState.REMOVED:
                remove_document(self._collection, self._ledger, member, "no longer in what held it")
                run.removed[member.id] = member.name
        if container.chunks:
            run.waiting.append(container)
        else:
            self._finish(container, run)

    def _close(self, container: _Document) -> None:
        if container.unpacking:
            container.unpacking.close()
            container.unpacking = None

    # One file, once it was read

    def _advance(self, document: _Document, state: DocumentState, stage: Stage, run: _Run) -> None:
        self._ledger.advance(self._name, document.id, state, stage, document.attempts)
        run.publish(document.found.name, stage)

    def _read(self, document: _Document) -> Reading:
        previous = document.previous
        same = previous and (previous.parser, previous.chunking) == (self._making.parser, self._making.chunking)
        return read(
            document.found,
            self._parser,
            max_file_mb=self._settings.max_file_mb,
            known_version=previous.version if previous and same and previous.chunks and not document.reread else "",
        )

    def _take(self, document: _Document, run: _Run) -> None:
        """Chunk what was parsed, unpack what holds files; note it in the ledger if there is neither."""
        reading = document.reading
        holder = run.containers.get(document.found.container)
        if holder and holder.unpacking:
            holder.unpacking.release(document.found)
        for stage, seconds in reading.seconds.items():
            run.spend(stage, seconds)
        if reading.error:
            self._note_failure(document, reading.error, run)
        elif reading.unchanged and document.previous:
            self._note_unchanged(document.found, document.previous, reading.modified, reading.read_at, run)
            run.bytes_done += document.size
            self._settle(document, run)
        else:
            self._go_on(document, reading, run)

    def _go_on(self, document: _Document, reading: Reading, run: _Run) -> None:
        """With what was read. Containers in containers are unpacked with the outermost."""
        if reading.parsed:
            run.publish(document.found.name, Stage.PARSING)
            self._advance(document, DocumentState.CHUNKING, Stage.CHUNKING, run)
            try:
                with run.timed(Stage.CHUNKING), reading.timed(Stage.CHUNKING):
                    self._chunk(document, reading.parsed)
            except FileError as error:
                self._note_failure(document, error, run)
                return
            document.moved_from = self._moved_from(document, run)
        if reading.container and not document.found.container:
            self._unpack(document, run)
        elif document.chunks:
            run.waiting.append(document)
        else:
            self._finish(document, run)

    def _chunk(self, document: _Document, parsed: ParsedDocument) -> None:
        """The document's chunks, marked with their edition."""
        source = Source(
            document_id=document.id,
            path=document.found.document,
            name=document.found.name,
            version=document.reading.version,
        )
        with defects_cost_one_file(document.found, document.reading):
            document.chunks = chunks_of(self._chunker, parsed, source, self._edition(document))

    def _edition(self, document: _Document) -> str:
        return edition_of(document.id, document.reading.version, self._making.parser, self._making.chunking)

    def _moved_from(self, document: _Document, run: _Run) -> Known | None:
        """The document of the same content whose file is gone, if there is one: it was moved here, or renamed."""
        former = run.movable.get(document.reading.version, [])
        gone = next((known for known in former if is_gone(known)), None)
        if gone:
            former.remove(gone)
        return gone

    def _note_failure(self, document: _Document, error: FileError, run: _Run) -> None:
        """Record the reason. What was indexed of the file before stays searchable, and the record keeps saying so."""
        record = self._record(document)
        if document.previous and document.previous.chunks:
            record = self._ledger.get(self._name, document.id) or record
        reason = str(error).replace(str(document.found.path), document.found.document)
        record = record.model_copy(
            update={
                "state": DocumentState.FAILED,
                "stage": document.reading.stage,
                "reason": printable(reason),
                "seconds": document.reading.seconds,
                "attempts": document.attempts,
                "updated_at": datetime.now(UTC),
            }
        )
        self._ledger.record(record)
        run.failed.append(record)
        run.bytes_done += document.size
        run.publish(document.found.name, document.reading.stage)
        self._settle(document, run)

    # Many files: embed, store

    def _store_waiting(self, run: _Run) -> None:
        """Embed and store the chunks of all waiting documents together; each goes live when its last is stored."""
        self._check()
        documents, run.waiting = run.waiting, []
        chunks: list[Chunk] = []
        moved: dict[str, str] = {}
        for document in documents:
            self._open_edition(document, run)
            chunks.extend(document.chunks)
            moved.update(self._former_ids(document))
            document.left = len(document.chunks)
        owners = {chunk.id: document for document in documents for chunk in document.chunks}
        for start in range(0, len(chunks), self._settings.embed_batch):
            batch = chunks[start : start + self._settings.embed_batch]
            self._store(batch, moved, owners, run)
            for chunk in batch:
                owners[chunk.id].left -= 1
                if not owners[chunk.id].left:
                    self._finish(owners[chunk.id], run)

    def _open_edition(self, document: _Document, run: _Run) -> None:
        """From now on there may be chunks of the new edition in the store, not for searches yet."""
        self._advance(document, DocumentState.EMBEDDING, Stage.EMBEDDING, run)
        edition = self._edition(document)
        if not document.previous or document.previous.edition != edition:
            self._ledger.hide(self._name, document.id, edition)

    def _former_ids(self, document: _Document) -> dict[str, str]:
        if document.moved_from is None:
            return {}
        former = document.moved_from.edition
        return {chunk.id: chunk_id(former, chunk.index) for chunk in document.chunks}

    def _store(self, chunks: Sequence[Chunk], moved: dict[str, str], owners: dict[str, _Document], run: _Run) -> None:
        run.publish(chunks[0].name, Stage.EMBEDDING)
        former = {chunk.id: moved[chunk.id] for chunk in chunks if chunk.id in moved}
        written = self._writer.write(chunks, former, run.timed)
        for chunk, tokens in zip(
            chunks, self._embedder.count_tokens([chunk.embedded_text for chunk in chunks]), strict=True
        ):
            owners[chunk.id].tokens += tokens
            run.tokens += tokens
        run.chunks += written.chunks
        run.embedded += written.embedded
        run.publish(chunks[-1].name, Stage.STORING)

    def _finish(self, document: _Document, run: _Run) -> None:
        """Let the new edition be seen instead of the old, then delete the old."""
        record = self._record(document)
        previous, moved_from = document.previous, document.moved_from
        superseded = previous.edition if previous and previous.edition != record.edition else ""
        with run.timed(Stage.STORING):
            self._ledger.publish(record, document.reading.parsed, superseded=superseded, moved_from=moved_from)
            if superseded:
                others = ChunkFilter(documents=(document.id,), without={EDITION: (record.edition,)})
                self._collection.delete(others)
            if moved_from:
                self._collection.delete(ChunkFilter(documents=(moved_from.id,)))
                run.removed[moved_from.id] = moved_from.name
            gone = [superseded, moved_from.edition if moved_from else ""]
            self._ledger.unhide(self._name, [edition for edition in gone if edition])
        run.indexed += 1
        run.pages += record.pages
        run.bytes_done += document.size
        run.slowest = sorted([*run.slowest, record], key=_effort, reverse=True)[:_SLOWEST]
        run.publish(document.found.name, Stage.STORING)
        self._settle(document, run)

    def _record(self, document: _Document) -> DocumentRecord:
        reading, parsed = document.reading, document.reading.parsed
        return DocumentRecord(
            collection=self._name,
            id=document.id,
            path=document.found.document,
            name=document.found.name,
            state=DocumentState.INDEXED,
            stage=Stage.STORING,
            version=reading.version,
            size=reading.size,
            modified=reading.modified,
            mime_type=parsed.mime_type if parsed else "",
            title=document.chunks[0].title if document.chunks else "",
            pages=len(parsed.pages) if parsed else 0,
            chunks=len(document.chunks),
            tokens=document.tokens,
            parser=self._making.parser,
            chunking=self._making.chunking,
            seconds=reading.seconds,
            warnings=parsed.warnings if parsed else (),
            metadata=parsed.metadata if parsed else {},
            attempts=document.attempts,
            container=document.found.container,
            read_at=reading.read_at,
        )

    # Afterwards

    def _clean_up(self, run: _Run) -> None:
        """Remove what is gone from disk, and what an ingest that was killed has left in the store."""
        self._check()
        with run.timed(Stage.STORING):
            for known in run.plan.gone:
                if known.id not in run.removed:
                    remove_document(self._collection, self._ledger, known, "gone from disk")
                    run.removed[known.id] = known.name
            sweep(self._collection, self._ledger, self._name)
            if run.chunks >= _OPTIMIZE_FROM:
                self._collection.optimize()

    def _report(self, run: _Run) -> IngestReport:
        return IngestReport(
            collection=self._name,
            files=run.files,
            indexed=run.indexed,
            unchanged=run.unchanged,
            failed=tuple(run.failed),
            failed_before=run.failed_before,
            left_out=(*run.plan.left_out, *run.left_out),
            removed=tuple(run.removed.values()),
            chunks=run.chunks,
            embedded=run.embedded,
            tokens=run.tokens,
            pages=run.pages,
            stage_seconds={stage: round(seconds, 3) for stage, seconds in run.seconds.items()},
            seconds=round(time.perf_counter() - run.started, 3),
            slowest=tuple(run.slowest),
            notices=run.plan.notices,
        )


def making(parser: Parser, chunker: Chunker, settings: IngestSettings) -> Making:
    """What chunks are made with; files that were indexed with something else are read again."""
    ocr = "" if settings.ocr is OcrMode.AUTO else f", ocr {settings.ocr.value}"
    return Making(parser=parser.version + ocr, chunking=chunker.fingerprint)


def plan_ingest(
    collection: str,
    paths: Sequence[Path],
    known: dict[str, Known],
    made_with: Making,
    *,
    own: Path | None = None,
    retry_failed: bool = False,
    sync: bool = False,
) -> Plan:
    """What an ingest of the paths would do; ``own`` is the folder of Candor's own data.

    Raises PathNotFound, NothingToIngest.
    """
    found: list[FoundFile | LeftOut] = list(discover(paths, own)) if paths else list(_failed(known))
    if not any(isinstance(entry, FoundFile) for entry in found):
        where = ", ".join(str(path) for path in paths)
        raise NothingToIngest(f"There is no file to ingest in {where}." if paths else "No file has failed.")
    roots = paths if sync else ()
    return make_plan(collection, found, known, made_with, retry_failed=retry_failed, sync=roots)


def _failed(known: dict[str, Known]) -> Iterator[FoundFile]:
    """The files that failed, or in which one did."""
    paths = {entry.container or entry.path for entry in known.values() if entry.state is DocumentState.FAILED}
    for entry in known.values():
        if entry.path in paths:
            yield FoundFile(path=Path(entry.path), document=entry.path, name=entry.name)


def _movable(plan: Plan, known: dict[str, Known]) -> dict[str, list[Known]]:
    """By content: the documents that may have been moved to where a file was found now."""
    found = {document_id(planned.file.document) for planned in plan.files}
    movable: dict[str, list[Known]] = {}
    for entry in known.values():
        if entry.chunks and entry.id not in found:
            movable.setdefault(entry.version, []).append(entry)
    return movable


def _members(known: dict[str, Known]) -> dict[str, list[Known]]:
    """By the path of their container: what lies in it."""
    members: dict[str, list[Known]] = {}
    for entry in known.values():
        if entry.container:
            members.setdefault(entry.container, []).append(entry)
    return members


def _done(pending: dict[Future[Reading], _Document]) -> Iterator[_Document]:
    """Wait until a file was read; give all that were, in the order in which they were begun."""
    finished, _ = wait(pending, return_when=FIRST_COMPLETED)
    for future in [future for future in pending if future in finished]:
        document = pending.pop(future)
        document.reading = future.result()
        yield document


def _effort(record: DocumentRecord) -> float:
    return sum(record.seconds.values())

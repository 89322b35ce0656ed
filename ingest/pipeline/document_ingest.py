"""The way of one file through an ingest: begun, read, chunked, embedded and stored with others, and then seen.

What has come to its end, well or not, is left in ``run.ended`` for whoever waits for it: the container it lay in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from ingest.chunking.chunker import Chunker, Source
from ingest.containers.unpack import ContainerLimits
from ingest.document import ParsedDocument
from ingest.errors import FileError
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import EDITION, DocumentRecord, DocumentState, Known, Stage, document_id, edition_of
from ingest.parser import Parser
from ingest.pipeline.chunk_writer import ChunkWriter
from ingest.pipeline.chunks import chunk_document, chunk_id
from ingest.pipeline.discovery import FoundFile, printable
from ingest.pipeline.open_container import OpenContainer
from ingest.pipeline.parse_file import Reading, defects_cost_one_file, read
from ingest.pipeline.plan import IndexSettings, Verdict, is_gone
from ingest.pipeline.run import Document, Run
from ingest.settings import IngestSettings
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, ChunkFilter
from vectorstore.store import Collection

_SLOWEST = 5
_UNFINISHED = {DocumentState.DISCOVERED, DocumentState.PARSING, DocumentState.CHUNKING, DocumentState.EMBEDDING}


class DocumentIngest:
    """Brings files to their terminal states. Only ``read`` may be called from other threads."""

    def __init__(
        self,
        *,
        parser: Parser,
        chunker: Chunker,
        embedder: Embedder,
        collection: Collection,
        ledger: Ledger,
        settings: IngestSettings,
        current: IndexSettings,
        check: Callable[[], None],
    ) -> None:
        self._parser = parser
        self._chunker = chunker
        self._embedder = embedder
        self._collection = collection
        self._name = collection.spec.collection
        self._ledger = ledger
        self._settings = settings
        self._current = current
        self._check = check
        self._writer = ChunkWriter(embedder, collection, ledger, self._name)

    def start(self, file: FoundFile, size: int, verdict: Verdict, run: Run) -> Document:
        """Note that the file is being read."""
        identity = document_id(file.document)
        known = run.known.get(identity)
        tried = known.attempts if known and known.state in {DocumentState.FAILED, *_UNFINISHED} else 0
        reread = verdict in (Verdict.RETRY, Verdict.SETTINGS)
        document = Document(file, identity, size, known, attempts=tried + 1, reread=reread)
        self._advance(document, DocumentState.PARSING, Stage.READING, run)
        return document

    def read(self, document: Document) -> Reading:
        """Read and parse it, unless it holds what is indexed of it."""
        previous = document.previous
        same = previous and self._current.is_current(previous)
        return read(
            document.found,
            self._parser,
            max_file_mb=self._settings.max_file_mb,
            known_version=previous.version if previous and same and previous.chunks and not document.reread else "",
        )

    def take(self, document: Document, run: Run) -> None:
        """Go on with a file that was read: chunk what was parsed, and have unpacked what holds files."""
        reading = document.reading
        holder = run.containers.get(document.found.container)
        if holder and holder.unpacking:
            holder.unpacking.release(document.found)
        for stage, seconds in reading.seconds.items():
            run.spend(stage, seconds)
        if reading.error:
            self.fail(document, reading.error, run)
        elif reading.unchanged and document.previous:
            self.note_unchanged(document.found, document.previous, reading.modified, reading.read_at, run)
            run.bytes_done += document.size
            run.ended.append(document)
        else:
            self._go_on(document, reading, run)

    def _go_on(self, document: Document, reading: Reading, run: Run) -> None:
        """With what was read. Containers in containers are unpacked with the outermost."""
        if reading.parsed:
            run.publish(document.found.name, Stage.PARSING)
            self._advance(document, DocumentState.CHUNKING, Stage.CHUNKING, run)
            try:
                with run.timed(Stage.CHUNKING), reading.timed(Stage.CHUNKING):
                    self._chunk(document, reading.parsed)
            except FileError as error:
                self.fail(document, error, run)
                return
            document.moved_from = self._moved_from(document, run)
        if reading.container and not document.found.container:
            document.unpacking = OpenContainer(document.found, ContainerLimits(member_mb=self._settings.max_file_mb))
            run.containers[document.found.document] = document
        elif document.chunks:
            run.waiting.append(document)
        else:
            self.finish(document, run)

    def _chunk(self, document: Document, parsed: ParsedDocument) -> None:
        """The document's chunks, marked with their edition."""
        source = Source(
            document_id=document.id,
            path=document.found.document,
            name=document.found.name,
            version=document.reading.version,
        )
        with defects_cost_one_file(document.found, document.reading):
            document.chunks = chunk_document(self._chunker, parsed, source, self._edition(document))

    def _edition(self, document: Document) -> str:
        return edition_of(document.id, document.reading.version, self._parser_version(document), self._current.chunking)

    def _parser_version(self, document: Document) -> str:
        return self._current.parser_version(document.found.document, document.reading.parsed)

    def _moved_from(self, document: Document, run: Run) -> Known | None:
        """The document of the same content whose file is gone, if there is one: it was moved here, or renamed."""
        former = run.movable.get(document.reading.version, [])
        gone = next((known for known in former if is_gone(known)), None)
        if gone:
            former.remove(gone)
        return gone

    def fail(self, document: Document, error: FileError, run: Run) -> None:
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
        run.ended.append(document)

    def note_unchanged(self, file: FoundFile, known: Known, modified: float, read_at: float, run: Run) -> None:
        """Count a file that holds what is indexed of it."""
        if (known.state, known.name, known.modified, known.read_at) != (
            DocumentState.INDEXED, file.name, modified, read_at
        ):  # fmt: skip
            self._ledger.touch(self._name, known.id, name=file.name, modified=modified, read_at=read_at)
        run.unchanged += 1
        run.publish(file.name, Stage.READING)

    # Many files: embed, store

    def store_waiting(self, run: Run) -> None:
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
                    self.finish(owners[chunk.id], run)

    def _open_edition(self, document: Document, run: Run) -> None:
        """From now on there may be chunks of the new edition in the store, not for searches yet."""
        self._advance(document, DocumentState.EMBEDDING, Stage.EMBEDDING, run)
        edition = self._edition(document)
        if not document.previous or document.previous.edition != edition:
            self._ledger.hide(self._name, document.id, edition)

    def _former_ids(self, document: Document) -> dict[str, str]:
        if document.moved_from is None:
            return {}
        former = document.moved_from.edition
        return {chunk.id: chunk_id(former, chunk.index) for chunk in document.chunks}

    def _store(self, chunks: Sequence[Chunk], moved: dict[str, str], owners: dict[str, Document], run: Run) -> None:
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

    def finish(self, document: Document, run: Run) -> None:
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
        run.ended.append(document)

    def _record(self, document: Document) -> DocumentRecord:
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
            parser=self._parser_version(document),
            chunking=self._current.chunking,
            seconds=reading.seconds,
            warnings=parsed.warnings if parsed else (),
            metadata=parsed.metadata if parsed else {},
            attempts=document.attempts,
            container=document.found.container,
            read_at=reading.read_at,
        )

    def _advance(self, document: Document, state: DocumentState, stage: Stage, run: Run) -> None:
        self._ledger.advance(self._name, document.id, state, stage, document.attempts)
        run.publish(document.found.name, stage)


def _effort(record: DocumentRecord) -> float:
    return sum(record.seconds.values())

"""The steps of ingesting files: start, read, embed and store, publish.

A thread reads and chunks one file at a time. The other steps take many files, because each transaction of the database
and each request to the store takes longer than a small file does. A file in a terminal state is added to
``state.finished``, which ``container_ingest.py`` reads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from ingest.chunking.chunker import Chunker, Source
from ingest.containers.unpack import ContainerLimits
from ingest.document import ParsedDocument
from ingest.errors import EmptyImage, FileError
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import (
    INDEX_VERSION,
    DocumentRecord,
    DocumentState,
    DocumentSummary,
    Publication,
    Stage,
    Touched,
    document_id,
    index_version,
)
from ingest.parser import Parser
from ingest.pipeline.chunk_writer import ChunkWriter
from ingest.pipeline.chunks import chunk_document, chunk_id
from ingest.pipeline.copies import Copies
from ingest.pipeline.discovery import FoundFile, SkippedFile, printable
from ingest.pipeline.open_container import OpenContainer, Unpack
from ingest.pipeline.parse_file import ParseResult, parse_file, wrap_internal_errors
from ingest.pipeline.plan import IndexSettings, Verdict, is_missing
from ingest.pipeline.reports import WarnedDocument
from ingest.pipeline.state import DocumentInProgress, IngestState
from ingest.settings import IngestSettings
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, ChunkFilter
from vectorstore.store import Collection

_SLOWEST = 5
_UNFINISHED = {DocumentState.DISCOVERED, DocumentState.PARSING, DocumentState.CHUNKING, DocumentState.EMBEDDING}


class DocumentIngest:
    """Processes files until they reach a terminal state. Only ``read`` may be called from other threads."""

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
        copies: Copies | None,
        unpack: Unpack,
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
        self._copies = copies
        self._unpack = unpack
        self._writer = ChunkWriter(embedder, collection, ledger, self._name)

    def prepare(self, file: FoundFile, size: int, verdict: Verdict, state: IngestState) -> DocumentInProgress:
        """Return the file as one to start."""
        identity = document_id(file.document)
        known = state.known.get(identity)
        tried = known.attempts if known and known.state in {DocumentState.FAILED, *_UNFINISHED} else 0
        reread = verdict in (Verdict.RETRY, Verdict.SETTINGS)
        return DocumentInProgress(file, identity, size, known, attempts=tried + 1, reread=reread)

    def start(self, documents: Sequence[DocumentInProgress], state: IngestState) -> None:
        """Record in the ledger that the files are being read."""
        self._advance(documents, DocumentState.PARSING, Stage.READING, state)

    def read(self, document: DocumentInProgress) -> None:
        """Read the file, then parse and chunk it unless its content is indexed. Sets its result and its chunks."""
        document.result = result = self._parse(document)
        if result.parsed and not result.error:
            try:
                with result.timed(Stage.CHUNKING), wrap_internal_errors(document.found, result):
                    document.chunks = self._chunk(document, result.parsed)
            except FileError as error:
                result.error = error

    def _parse(self, document: DocumentInProgress) -> ParseResult:
        previous = document.previous
        same = previous and self._current.is_current(previous)
        begun, limit = time.time(), self._settings.max_file_mb
        if self._copies:
            was_read = previous is not None and bool(previous.version)
            try:
                document.found = self._copies.take(document.found, known=was_read, max_file_mb=limit)
            except FileError as error:
                return ParseResult(error=error)
        result = parse_file(
            document.found,
            self._parser,
            max_file_mb=limit,
            known_version=previous.version if previous and same and previous.chunks and not document.reread else "",
        )
        result.read_at = min(result.read_at, begun)
        return result

    def _chunk(self, document: DocumentInProgress, parsed: ParsedDocument) -> list[Chunk]:
        source = Source(
            document_id=document.id,
            path=document.found.document,
            name=document.found.name,
            version=document.result.version,
        )
        return chunk_document(self._chunker, parsed, source, self._index_version(document))

    def release(self, document: DocumentInProgress) -> None:
        """Delete the extracted members of a container and the private copy of the file."""
        document.close()
        if self._copies:
            self._copies.drop(document.found)

    def process(self, documents: Sequence[DocumentInProgress], state: IngestState) -> None:
        """Process files that were read. Queue them for embedding, or open them if they are containers."""
        for document in documents:
            result = document.result
            holder = state.containers.get(document.found.container)
            if holder and holder.unpacking:
                holder.unpacking.release(document.found)
            for stage, seconds in result.seconds.items():
                state.add_seconds(stage, seconds)
            if result.error:
                self.fail(document, result.error, state)
            elif not result.unchanged:
                self._process_parsed(document, result, state)
        self._record_unchanged([each for each in documents if each.result.unchanged and not each.result.error], state)
        for document in documents:
            if not document.unpacking:
                self.release(document)

    def _process_parsed(self, document: DocumentInProgress, result: ParseResult, state: IngestState) -> None:
        """Open the container, or queue the document. Nested containers are unpacked with the outermost one."""
        if result.parsed:
            state.report_progress(document.found.name, Stage.CHUNKING)
            document.moved_from = self._moved_from(document, state)
        if result.container and not document.found.container:
            limits = ContainerLimits(member_mb=self._settings.max_file_mb)
            document.unpacking = OpenContainer(document.found, limits, self._unpack)
            state.containers[document.found.document] = document
        elif document.chunks:
            state.waiting.append(document)
        else:
            self.finish([document], state)

    def _index_version(self, document: DocumentInProgress) -> str:
        return index_version(
            document.id, document.result.version, self._parser_version(document), self._current.chunking
        )

    def _parser_version(self, document: DocumentInProgress) -> str:
        return self._current.parser_version(document.found.document, document.result.parsed)

    def _moved_from(self, document: DocumentInProgress, state: IngestState) -> DocumentSummary | None:
        """Return the document with the same content whose file is missing because it was moved or renamed, or None."""
        candidates = state.move_candidates.get(document.result.version, [])
        moved = next((known for known in candidates if is_missing(known)), None)
        if moved:
            candidates.remove(moved)
        return moved

    def fail(self, document: DocumentInProgress, error: FileError, state: IngestState) -> None:
        """Record why the file failed. Its indexed version stays searchable, and its record still describes it.

        An image without text in a message or an archive is skipped, because it is probably a logo or a photo.
        """
        record = self._record(document)
        skipped = bool(document.found.container) and isinstance(error, EmptyImage) and not _is_indexed(document)
        if _is_indexed(document):
            record = self._ledger.get(self._name, document.id) or record
        reason = str(error).replace(str(document.found.path), document.found.document)
        record = record.model_copy(
            update={
                "state": DocumentState.SKIPPED if skipped else DocumentState.FAILED,
                "stage": document.result.stage,
                "reason": printable(reason),
                "seconds": document.result.seconds,
                "attempts": document.attempts,
                "updated_at": datetime.now(UTC),
            }
        )
        self._ledger.record(record)
        if skipped:
            state.files -= 1
            state.left_out.append(SkippedFile(path=record.path, name=record.name, reason=record.reason))
        else:
            state.failed.append(record)
        state.bytes_done += document.size
        state.report_progress(document.found.name, document.result.stage)
        state.finished.append(document)

    def _record_unchanged(self, documents: Sequence[DocumentInProgress], state: IngestState) -> None:
        """Count files whose content is already indexed, and record what else has changed."""
        touched = [Touched(each.id, each.found.name, each.result.modified, each.result.read_at) for each in documents]
        self._ledger.touch(self._name, touched)
        for document in documents:
            state.bytes_done += document.size
            state.count_unchanged(document.found.name)
            state.finished.append(document)

    def store_waiting(self, state: IngestState) -> None:
        """Embed and store the chunks of all waiting documents in batches, then publish each completed document."""
        self._check()
        documents, state.waiting = state.waiting, []
        self._hide_new_versions(documents, state)
        chunks: list[Chunk] = []
        moved: dict[str, str] = {}
        for document in documents:
            chunks.extend(document.chunks)
            moved.update(self._former_chunk_ids(document))
            document.chunks_left = len(document.chunks)
        owners = {chunk.id: document for document in documents for chunk in document.chunks}
        for start in range(0, len(chunks), self._settings.embed_batch):
            batch = chunks[start : start + self._settings.embed_batch]
            self._store(batch, moved, owners, state)
            for chunk in batch:
                owners[chunk.id].chunks_left -= 1
            touched = {owners[chunk.id].id: owners[chunk.id] for chunk in batch}
            self.finish([each for each in touched.values() if not each.chunks_left], state)

    def _hide_new_versions(self, documents: Sequence[DocumentInProgress], state: IngestState) -> None:
        """Hide the new versions from searches. Called before their first chunk is stored."""
        self._advance(documents, DocumentState.EMBEDDING, Stage.EMBEDDING, state)
        versions = {self._index_version(each): each for each in documents}
        hidden = {
            version: each.id
            for version, each in versions.items()
            if not each.previous or each.previous.index_version != version
        }
        self._ledger.hide(self._name, hidden)

    def _former_chunk_ids(self, document: DocumentInProgress) -> dict[str, str]:
        if document.moved_from is None:
            return {}
        former = document.moved_from.index_version
        return {chunk.id: chunk_id(former, chunk.index) for chunk in document.chunks}

    def _store(
        self, chunks: Sequence[Chunk], moved: dict[str, str], owners: dict[str, DocumentInProgress], state: IngestState
    ) -> None:
        state.report_progress(chunks[0].name, Stage.EMBEDDING)
        former = {chunk.id: moved[chunk.id] for chunk in chunks if chunk.id in moved}
        written = self._writer.write(chunks, former, state.timed, state.check_cancelled)
        for chunk, tokens in zip(
            chunks, self._embedder.count_tokens([chunk.embedded_text for chunk in chunks]), strict=True
        ):
            owners[chunk.id].tokens += tokens
            state.tokens += tokens
        state.chunks += written.chunks
        state.embedded += written.embedded
        state.report_progress(chunks[-1].name, Stage.STORING)

    def finish(self, documents: Sequence[DocumentInProgress], state: IngestState) -> None:
        """Publish the new versions in place of the old ones, then delete the old chunks."""
        published = [self._publication(document) for document in documents]
        with state.timed(Stage.STORING):
            self._ledger.publish(published)
            self._delete_replaced(published)
        for document, (record, _, _, moved_from) in zip(documents, published, strict=True):
            if moved_from:
                state.removed[moved_from.id] = moved_from.name
            state.indexed += 1
            state.pages += record.pages
            if record.warnings:
                state.warned.append(WarnedDocument(name=record.name, warnings=record.warnings))
            state.bytes_done += document.size
            state.slowest = sorted([*state.slowest, record], key=_total_seconds, reverse=True)[:_SLOWEST]
            state.report_progress(document.found.name, Stage.STORING)
            state.finished.append(document)

    def _publication(self, document: DocumentInProgress) -> Publication:
        record, previous = self._record(document), document.previous
        superseded = previous.index_version if previous and previous.index_version != record.index_version else ""
        return Publication(record, document.result.parsed, superseded, document.moved_from)

    def _delete_replaced(self, published: Sequence[Publication]) -> None:
        """Delete the chunks of replaced versions and of moved documents."""
        replaced = [each for each in published if each.superseded]
        moved = [each.moved_from for each in published if each.moved_from]
        if replaced:
            live = tuple(each.record.index_version for each in replaced)
            documents = tuple(each.record.id for each in replaced)
            self._collection.delete(ChunkFilter(documents=documents, without={INDEX_VERSION: live}))
        if moved:
            self._collection.delete(ChunkFilter(documents=tuple(each.id for each in moved)))
        deleted = [*(each.superseded for each in replaced), *(each.index_version for each in moved)]
        if deleted:
            self._ledger.unhide(self._name, deleted)

    def _record(self, document: DocumentInProgress) -> DocumentRecord:
        result, parsed = document.result, document.result.parsed
        return DocumentRecord(
            collection=self._name,
            id=document.id,
            path=document.found.document,
            name=document.found.name,
            state=DocumentState.INDEXED,
            stage=Stage.STORING,
            version=result.version,
            size=result.size,
            modified=result.modified,
            mime_type=parsed.mime_type if parsed else "",
            title=document.chunks[0].title if document.chunks else "",
            pages=len({page.number for page in parsed.pages}) if parsed else 0,
            chunks=len(document.chunks),
            tokens=document.tokens,
            parser=self._parser_version(document),
            chunking=self._current.chunking,
            seconds=result.seconds,
            warnings=parsed.warnings if parsed else (),
            metadata=parsed.metadata if parsed else {},
            facts=parsed.facts if parsed else {},
            attempts=document.attempts,
            container=document.found.container,
            read_at=result.read_at,
        )

    def _advance(
        self, documents: Sequence[DocumentInProgress], reached: DocumentState, stage: Stage, state: IngestState
    ) -> None:
        self._ledger.advance(self._name, reached, stage, {each.id: each.attempts for each in documents})
        for document in documents:
            state.report_progress(document.found.name, stage)


def _is_indexed(document: DocumentInProgress) -> bool:
    """Return whether an earlier version of the file is searchable."""
    return bool(document.previous and document.previous.chunks)


def _total_seconds(record: DocumentRecord) -> float:
    return sum(record.seconds.values())

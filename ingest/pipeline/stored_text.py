"""Chunks and embeds documents from the parsed text in the ledger. No file is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from ingest.chunking.chunker import Chunker, Source
from ingest.document import ParsedDocument
from ingest.errors import IngestCancelled
from ingest.facts.facts import find_facts
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import INDEX_VERSION, DocumentRecord, DocumentSummary, Publication, Stage, index_version
from ingest.pipeline.chunk_writer import ChunkWriter
from ingest.pipeline.chunks import chunk_document
from ingest.pipeline.reports import Progress
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, ChunkFilter
from vectorstore.store import Collection


@dataclass
class Written:
    """What was written so far. ``embedded`` counts the distinct texts that had to be embedded."""

    documents: int = 0
    chunks: int = 0
    embedded: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cancelled: bool = False


@dataclass(frozen=True)
class _Chunked:
    """A document with the chunks of its stored text. ``replaced`` is its version before."""

    record: DocumentRecord
    parsed: ParsedDocument
    chunks: list[Chunk]
    replaced: str


class StoredTextIngest:
    """Writes documents of the collection ``name`` to ``target``, and their new rows to the ledger.

    The ledger keeps the rows under the name ``staged``. If it is empty, they replace the rows of the collection.
    ``check`` is called before each write to the store and raises if the process may no longer write.
    """

    def __init__(
        self,
        name: str,
        target: Collection,
        ledger: Ledger,
        chunker: Chunker,
        embedder: Embedder,
        batch: int,
        check: Callable[[], None] = lambda: None,
        staged: str = "",
    ) -> None:
        self._name, self._staged = name, staged
        self._target_name = staged or name
        self._target = target
        self._ledger = ledger
        self._chunker = chunker
        self._embedder = embedder
        self._writer = ChunkWriter(embedder, target, ledger, self._target_name)
        self._batch = batch
        self._check = check

    def write(
        self,
        documents: Sequence[DocumentSummary],
        progress: Callable[[Progress], None],
        cancelled: Callable[[], bool],
        done: int = 0,
    ) -> Written:
        """Write the documents until ``cancelled`` returns true. ``done`` is the number that an earlier attempt wrote.

        Raises StoreError, LedgerUnavailable.
        """
        started, written = time.perf_counter(), Written()
        for group in self._groups(documents):
            try:
                self._write(group, written, cancelled)
            except IngestCancelled:
                written.cancelled = True
                break
            progress(
                Progress(
                    name=group[-1].record.name, stage=Stage.EMBEDDING, files_done=done + written.documents,
                    files_total=done + len(documents), failed=0, chunks=written.chunks, tokens=written.tokens,
                    seconds=time.perf_counter() - started, bytes_done=0, bytes_total=0,
                )
            )  # fmt: skip
        written.seconds = time.perf_counter() - started
        return written

    def _groups(self, documents: Sequence[DocumentSummary]) -> Iterator[list[_Chunked]]:
        """Yield documents with their chunks, in groups that fill an embedding batch."""
        group: list[_Chunked] = []
        for known in documents:
            group.append(self._chunked(known))
            if sum(len(each.chunks) for each in group) >= self._batch:
                yield group
                group = []
        if group:
            yield group

    def _chunked(self, known: DocumentSummary) -> _Chunked:
        """Chunk the stored text with the current chunker."""
        record = self._ledger.find(self._name, known.id)
        kept = self._ledger.text(self._name, known.id)
        parsed = ParsedDocument(
            text=kept.text, blocks=kept.blocks, pages=kept.pages, title=record.title, metadata=record.metadata,
            facts=record.facts, mime_type=record.mime_type, parser=record.parser, warnings=record.warnings,
        )  # fmt: skip
        facts = record.facts or find_facts(parsed)  # documents from older versions have no facts
        parsed = parsed.model_copy(update={"facts": facts})
        chunking = self._chunker.fingerprint
        version = index_version(record.id, record.version, record.parser, chunking)
        source = Source(document_id=record.id, path=record.path, name=record.name, version=record.version)
        chunks = chunk_document(self._chunker, parsed, source, version)
        tokens = sum(self._embedder.count_tokens([chunk.embedded_text for chunk in chunks]))
        changed: dict[str, Any] = {
            "collection": self._target_name, "chunking": chunking, "chunks": len(chunks), "tokens": tokens,
            "facts": facts,
        }  # fmt: skip
        replaced = "" if self._staged else record.index_version
        return _Chunked(record.model_copy(update=changed), parsed, chunks, replaced)

    def _write(self, group: Sequence[_Chunked], written: Written, cancelled: Callable[[], bool]) -> None:
        """Store the chunks, then publish the documents."""
        self._check()
        new = [each.record for each in group if each.record.index_version != each.replaced]
        self._ledger.hide(self._target_name, {record.index_version: record.id for record in new})
        chunks = [chunk for each in group for chunk in each.chunks]
        for start in range(0, len(chunks), self._batch):
            batch = chunks[start : start + self._batch]
            written.embedded += self._writer.write(batch, {}, lambda _: nullcontext(), cancelled).embedded
        self._publish(group)
        written.documents += len(group)
        written.chunks += len(chunks)
        written.tokens += sum(each.record.tokens for each in group)

    def _publish(self, group: Sequence[_Chunked]) -> None:
        """Show the documents to searches, and delete the chunks of their other versions."""
        if self._staged:
            self._ledger.publish([Publication(each.record) for each in group])
            return
        superseded = [each.replaced if each.replaced != each.record.index_version else "" for each in group]
        self._ledger.publish(
            [Publication(each.record, each.parsed, old) for each, old in zip(group, superseded, strict=True)]
        )
        live = tuple(each.record.index_version for each in group)
        documents = tuple(each.record.id for each in group)
        self._target.delete(ChunkFilter(documents=documents, without={INDEX_VERSION: live}))
        self._ledger.unhide(self._name, [version for version in superseded if version])

"""Embeds a whole collection with another model into a second stored collection, which then replaces the first.

Searches use the first collection until all documents are done. No file is read: the ledger stores the parsed text of
every document, even if its file was moved or deleted. The ledger keeps the new rows under a staging name. If the
process is killed, the collection is unchanged, and the next ingest continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

from pydantic import Field

from ingest.chunking.chunker import Chunker, Source
from ingest.document import ParsedDocument
from ingest.errors import IngestCancelled
from ingest.facts.facts import find_facts
from ingest.ledger.aliases import CollectionAliases, staging_name
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentSummary, Stage, index_version
from ingest.ledger.versions import delete_hidden_chunks
from ingest.pipeline.chunk_writer import ChunkWriter, WriteResult
from ingest.pipeline.chunks import chunk_document
from ingest.pipeline.reports import Progress
from vectorstore.embedding.embedder import Embedder
from vectorstore.errors import CollectionNotFound
from vectorstore.models import Chunk, CollectionSpec, FrozenModel
from vectorstore.store import Collection, VectorStore


class ModelChange(FrozenModel):
    """The collection was embedded with another model than the configured one."""

    collection: str
    before: str
    now: str
    documents: int = Field(description="indexed documents, all of which have to be embedded again")

    @property
    def notice(self) -> str:
        """The message to show before the documents are embedded again."""
        return (
            f"The embedding model is now {self.now!r}, not {self.before!r}: all {self.documents} indexed documents of "
            f"collection {self.collection!r} are embedded again from their stored text, also those that are not among "
            "these files or whose files are gone. Until all are done, searches use the vectors of "
            f"{self.before!r}."
        )

    def apply(self, known: Mapping[str, DocumentSummary], chunking: str) -> dict[str, DocumentSummary]:
        """Return the ledger's snapshot as it will be after the change."""
        return {identity: each._replace(chunking=chunking) if each.chunks else each for identity, each in known.items()}


class ReembedReport(FrozenModel):
    """The result of embedding a collection again."""

    change: ModelChange
    rebuilt: int = Field(description="documents embedded now; an earlier attempt may have embedded others")
    chunks: int
    embedded: int = Field(description="distinct texts that had to be embedded for the chunks")
    seconds: float


class Reembedding:
    """Fills ``successor``, the stored collection that will replace the live one."""

    def __init__(
        self,
        change: ModelChange,
        successor: Collection,
        ledger: Ledger,
        chunker: Chunker,
        embedder: Embedder,
        batch: int,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._check = check
        self._change = change
        self._name = change.collection
        self._staged = staging_name(successor.spec.name)
        self._successor = successor
        self._ledger = ledger
        self._chunker = chunker
        self._writer = ChunkWriter(embedder, successor, ledger, self._staged)
        self._embedder = embedder
        self._batch = batch

    def run(
        self,
        known: Mapping[str, DocumentSummary],
        progress: Callable[[Progress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> ReembedReport | None:
        """Embed the documents that an earlier attempt has not; return None if cancelled before all are done.

        ``known`` is the ledger's snapshot of the collection. Raises StoreError, LedgerUnavailable.
        """
        started = time.perf_counter()
        live = {each.id: each for each in known.values() if each.chunks}
        done = self._done(live)
        rebuilt = chunks = embedded = tokens = 0
        for group in self._groups([each for identity, each in live.items() if identity not in done]):
            try:
                written = self._write(group, cancelled)
            except IngestCancelled:
                return None
            rebuilt += len(group)
            chunks += written.chunks
            embedded += written.embedded
            tokens += sum(record.tokens for record, _ in group)
            progress(
                Progress(
                    name=group[-1][0].name, stage=Stage.EMBEDDING, files_done=len(done) + rebuilt,
                    files_total=len(live), failed=0, chunks=chunks, tokens=tokens,
                    seconds=time.perf_counter() - started, bytes_done=0, bytes_total=0,
                )
            )  # fmt: skip
        delete_hidden_chunks(self._successor, self._ledger, self._staged)
        self._successor.optimize()
        seconds = round(time.perf_counter() - started, 3)
        return ReembedReport(change=self._change, rebuilt=rebuilt, chunks=chunks, embedded=embedded, seconds=seconds)

    def _done(self, live: Mapping[str, DocumentSummary]) -> set[str]:
        """Return the documents that an earlier attempt embedded. Remove those that changed or were removed since."""
        done = set()
        for staged in self._ledger.snapshot(self._staged).values():
            now = live.get(staged.id)
            if staged.chunks and now and (staged.version, staged.parser) == (now.version, now.parser):
                done.add(staged.id)
            elif staged.chunks:
                self._ledger.remove(self._staged, staged.id, staged.index_version, "replaced")
        return done

    def _groups(self, documents: Sequence[DocumentSummary]) -> Iterator[list[tuple[DocumentRecord, list[Chunk]]]]:
        """Yield documents with their chunks, in groups that fill an embedding batch."""
        group: list[tuple[DocumentRecord, list[Chunk]]] = []
        for known in documents:
            group.append(self._chunked(known))
            if sum(len(chunks) for _, chunks in group) >= self._batch:
                yield group
                group = []
        if group:
            yield group

    def _chunked(self, known: DocumentSummary) -> tuple[DocumentRecord, list[Chunk]]:
        """Chunk the stored text for the new model. Return the updated record and the chunks."""
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
        staged: dict[str, Any] = {
            "collection": self._staged, "chunking": chunking, "chunks": len(chunks), "tokens": tokens, "facts": facts
        }  # fmt: skip
        return record.model_copy(update=staged), chunks

    def _write(self, group: Sequence[tuple[DocumentRecord, list[Chunk]]], cancelled: Callable[[], bool]) -> WriteResult:
        """Store the chunks, then publish the documents under the staging name."""
        self._check()
        for record, _ in group:
            self._ledger.hide(self._staged, record.id, record.index_version)
        chunks = [chunk for _, of_one in group for chunk in of_one]
        embedded = 0
        for start in range(0, len(chunks), self._batch):
            batch = chunks[start : start + self._batch]
            embedded += self._writer.write(batch, {}, lambda _: nullcontext(), cancelled).embedded
        for record, _ in group:
            self._ledger.publish(record)
        return WriteResult(chunks=len(chunks), embedded=embedded)


def open_successor(spec: CollectionSpec, store: VectorStore, aliases: CollectionAliases) -> Collection:
    """Open the collection to rebuild into: the one that an earlier attempt with the same spec began, or a new one.

    ``spec`` is named after the collection to replace.
    """
    name = spec.name
    begun = spec.model_copy(update={"name": aliases.building(name)})
    if begun.name and store.find(begun.name) in (None, begun):
        return store.create(begun)
    aliases.abandon_rebuild(name)
    stored = [each.name for each in store.list()]
    stored_name = aliases.start_rebuild(name, taken={*stored, *aliases.retired(name)})
    return store.create(spec.model_copy(update={"name": stored_name}))


def drop_replaced(name: str, store: VectorStore, ledger: Ledger, aliases: CollectionAliases) -> None:
    """Drop the stored collections that were replaced, and the unfinished rebuild for a model no longer configured.

    Raises CollectionLocked while one is still searched.
    """
    aliases.abandon_rebuild(name)
    for stored_name in aliases.retired(name):
        with suppress(CollectionNotFound):  # an earlier call may have been killed after this step
            store.drop(stored_name)
        ledger.forget(staging_name(stored_name))
        aliases.forget(stored_name)

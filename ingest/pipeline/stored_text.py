"""Chunks and embeds documents from the parsed text in the ledger. No file is read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.chunking.chunker import Chunker, Source
from ingest.document import ParsedDocument
from ingest.errors import IngestCancelled
from ingest.facts.facts import find_facts
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentSummary, Publication, Stage, index_version
from ingest.pipeline.chunks import chunk_document
from ingest.pipeline.publisher import Publisher
from ingest.pipeline.tally import Tally
from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Collection


@dataclass(frozen=True)
class StoredTextIngest:
    """Writes documents of the collection ``name`` to ``target``, and their new rows to the ledger.

    The ledger keeps the rows under the name ``staged``. If it is empty, they replace the rows of the collection.
    ``check`` is called before each write to the store and raises if the process may no longer write.
    """

    name: str
    target: Collection
    ledger: Ledger
    chunker: Chunker
    embedder: Embedder
    batch: int
    check: Callable[[], None] = lambda: None
    staged: str = ""

    def write(self, documents: Sequence[DocumentSummary], tally: Tally) -> None:
        """Write the documents until the ingest is cancelled, and count them.

        Raises StoreError, LedgerUnavailable.
        """
        publisher = Publisher(
            self.staged or self.name, self.target, self.ledger, self.embedder, self.batch, self.check, tally
        )
        try:
            for group in self._groups(documents):
                for published in publisher.publish(group):
                    tally.indexed += len(published)
                tally.report_progress(group[-1].record.name, Stage.STORING)
        except IngestCancelled:
            tally.was_cancelled = True

    def _groups(self, documents: Sequence[DocumentSummary]) -> Iterator[list[Publication]]:
        """Yield documents with their chunks, in groups that fill an embedding batch."""
        group: list[Publication] = []
        for known in documents:
            group.append(self._chunked(known))
            if sum(len(each.chunks) for each in group) >= self.batch:
                yield group
                group = []
        if group:
            yield group

    def _chunked(self, known: DocumentSummary) -> Publication:
        """Chunk the stored text with the current chunker."""
        record = self.ledger.find(self.name, known.id)
        kept = self.ledger.text(self.name, known.id)
        parsed = ParsedDocument(
            text=kept.text, blocks=kept.blocks, pages=kept.pages, title=record.title, metadata=record.metadata,
            facts=record.facts, mime_type=record.mime_type, parser=record.parser, warnings=record.warnings,
        )  # fmt: skip
        facts = record.facts or find_facts(parsed)  # documents from older versions have no facts
        parsed = parsed.model_copy(update={"facts": facts})
        chunking = self.chunker.fingerprint
        version = index_version(record.id, record.version, record.parser, chunking)
        source = Source(document_id=record.id, path=record.path, name=record.name, version=record.version)
        chunks = chunk_document(self.chunker, parsed, source, version)
        changed: dict[str, Any] = {
            "collection": self.staged or self.name, "chunking": chunking, "chunks": len(chunks), "facts": facts,
        }  # fmt: skip
        new = record.model_copy(update=changed)
        if self.staged:
            return Publication(new, chunks=chunks)
        return Publication(new, parsed, superseded=record.index_version, chunks=chunks)

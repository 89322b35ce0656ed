"""The chunks of a document as they are stored: marked with the indexed version that they belong to."""

from __future__ import annotations

from uuid import UUID, uuid5

from ingest.chunking.chunker import Chunker, Source
from ingest.document import ParsedDocument
from ingest.ledger.records import EDITION
from vectorstore.models import Chunk

_CHUNK_NAMESPACE = UUID("0b8c6c55-6d0f-5d43-9a55-3c2f5e0f4a17")


def chunk_document(chunker: Chunker, parsed: ParsedDocument, source: Source, edition: str) -> list[Chunk]:
    """Cut the document into chunks of this indexed version."""
    marked = parsed.model_copy(update={"metadata": {**parsed.metadata, EDITION: edition}})
    return [chunk.model_copy(update={"id": chunk_id(edition, chunk.index)}) for chunk in chunker.chunk(marked, source)]


def chunk_id(edition: str, index: int) -> str:
    """Return the id in the store: the same in every ingest for the same index in the same indexed version."""
    return str(uuid5(_CHUNK_NAMESPACE, f"{edition}/{index}"))

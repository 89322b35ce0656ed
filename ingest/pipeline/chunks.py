"""Creates the chunks of a document for the store, with the indexed version in their metadata."""

from uuid import UUID, uuid5

from ingest.chunking.chunker import Chunker, Source
from ingest.document import ParsedDocument
from ingest.ledger.records import INDEX_VERSION
from ingest.pipeline.model.figures import separate_descriptions
from vectorstore.models import Chunk

_CHUNK_NAMESPACE = UUID("0b8c6c55-6d0f-5d43-9a55-3c2f5e0f4a17")


def chunk_document(chunker: Chunker, parsed: ParsedDocument, source: Source, version: str) -> list[Chunk]:
    """Return the chunks of the document for this indexed version."""
    marked = parsed.model_copy(update={"metadata": {**parsed.metadata, INDEX_VERSION: version}})
    parts = separate_descriptions(marked)
    chunks = [chunk for part in parts for chunk in chunker.chunk(part, source)]
    return [
        chunk.model_copy(update={"index": index, "id": chunk_id(version, index)}) for index, chunk in enumerate(chunks)
    ]


def chunk_id(version: str, index: int) -> str:
    """Return the id of a chunk in the store, which depends only on the indexed version and the chunk's index."""
    return str(uuid5(_CHUNK_NAMESPACE, f"{version}/{index}"))

"""A collection as the research panel sees it: the store finds passages, the ledger knows the documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from multi_agent.library import CatalogueEntry
from vectorstore.models import Chunk, ChunkFilter
from vectorstore.retrieval import Retriever


@dataclass(frozen=True)
class CollectionLibrary:
    """Implements ``multi_agent.library.Library``."""

    collection: str
    catalogue: Callable[[], Sequence[CatalogueEntry]]
    retriever: Retriever

    def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Chunk]:
        return [hit.chunk for hit in self.retriever.search(queries, limit, self._only(documents))]

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        return list(self.retriever.scan(self._only(documents)))

    def _only(self, documents: Sequence[str]) -> ChunkFilter:
        ids = tuple(entry.id for entry in self.catalogue() if entry.name in documents) if documents else ()
        return ChunkFilter(documents=ids)

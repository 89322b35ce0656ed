"""A collection as the research panel sees it: the store finds passages, the ledger knows the documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from multi_agent.library import CatalogueEntry
from vectorstore.models import Chunk, ChunkFilter
from vectorstore.retrieval import Retriever
from vectorstore.store import EVERYTHING


@dataclass(frozen=True)
class CollectionLibrary:
    """Implements ``multi_agent.library.Library``."""

    collection: str
    catalogue: Callable[[], Sequence[CatalogueEntry]]
    retriever: Retriever

    def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Chunk]:
        if (where := self._only(documents)) is None:
            return []
        return [hit.chunk for hit in self.retriever.search(queries, limit, where)]

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        where = self._only(documents)
        return [] if where is None else list(self.retriever.scan(where))

    def _only(self, documents: Sequence[str]) -> ChunkFilter | None:
        """None if there is no document of these names any more: without names, a filter lets all through."""
        if not documents:
            return EVERYTHING
        ids = tuple(entry.id for entry in self.catalogue() if entry.name in documents)
        return ChunkFilter(documents=ids) if ids else None

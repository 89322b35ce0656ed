"""A collection as the research panel sees it: the store finds passages, the ledger knows the documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from multi_agent.library import CatalogueEntry
from vectorstore.models import Chunk, ChunkFilter
from vectorstore.retrieval import Retriever

Catalogue = Callable[[], Sequence[CatalogueEntry]]


class CollectionLibrary:
    """Implements ``multi_agent.library.Library``.

    The embedding model takes seconds to load; that begins at once, in a thread, while the question is being planned.
    """

    def __init__(self, collection: str, catalogue: Catalogue, load_retriever: Callable[[], Retriever]) -> None:
        self.collection = collection
        self.catalogue = catalogue
        loader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="load-embedding-model")
        self._retriever = loader.submit(load_retriever)
        loader.shutdown(wait=False)

    def search(self, queries: Sequence[str], limit: int) -> list[Chunk]:
        return [hit.chunk for hit in self._retriever.result().search(queries, limit)]

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        ids = tuple(entry.id for entry in self.catalogue() if entry.name in documents)
        return list(self._retriever.result().scan(ChunkFilter(documents=ids)))

"""Base class for wrappers of collections. It delegates every call to the wrapped collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode
from vectorstore.store import EVERYTHING, Collection, Query, T, Vectors


class CollectionWrapper(Collection):
    """Delegates every call to the wrapped collection. Subclasses override the calls that they change."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    @property
    def spec(self) -> CollectionSpec:
        """The specification it was created with."""
        return self._collection.spec

    @property
    def closed(self) -> bool:
        """Whether calls raise CollectionClosed."""
        return self._collection.closed

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Write chunks with their vectors."""
        self._collection.upsert(chunks, vectors)

    def delete(self, where: ChunkFilter) -> None:
        """Delete the selected chunks."""
        self._collection.delete(where)

    def search(self, mode: SearchMode, query: Query, limit: int, where: ChunkFilter = EVERYTHING) -> list[Hit]:
        """Return the best ``limit`` chunks."""
        return self._collection.search(mode, query, limit, where)

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        """Yield every selected chunk once, in order of document name and position."""
        return self._collection.scan(where)

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        """Count the selected documents and chunks."""
        return self._collection.count(where)

    def languages(self, *, exact: bool = True) -> dict[str, int]:
        """Return the number of chunks per language."""
        return self._collection.languages(exact=exact)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the dense vectors of the given chunks that exist, by chunk id."""
        return self._collection.vectors(ids)

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Return the ids that no chunk has."""
        return self._collection.missing(ids)

    def consistent_read(self, read: Callable[[Collection], T]) -> T:
        """Return ``read(view)``, where the view shows the collection as of one moment."""
        return self._collection.consistent_read(read)

    def optimize(
        self, on_build: Callable[[], None] = lambda: None, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until the search index is built, if many chunks wait for it."""
        self._collection.optimize(on_build, cancelled)

    def close(self) -> None:
        """Close the wrapped collection."""
        self._collection.close()

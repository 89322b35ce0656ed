"""The contract of a vector store. Implementations: ``edge.py`` (embedded), ``server.py`` (Qdrant by URL).

store = EdgeStore(folder)
with store.create(CollectionSpec(name="papers", embedding_model="m", dimension=384, chunking="c")) as papers:
    papers.upsert(chunks, vectors)
    hits = papers.search(SearchMode.HYBRID, text="heat pump", vector=query_vector, limit=10)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode

T = TypeVar("T")
Vectors = npt.NDArray[np.float32]
EVERYTHING = ChunkFilter()


class Collection(Protocol):
    """An open collection. Safe to search from several threads; closing releases it for other processes."""

    @property
    def spec(self) -> CollectionSpec:
        """What it was made with."""
        ...

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Write chunks with their dense vectors (shape (len(chunks), dimension)); same id replaces. Durable on return.

        Raises CollectionMismatch for a wrong shape, StoreUnavailable when it cannot be written.
        """
        ...

    def delete(self, where: ChunkFilter) -> None:
        """Delete the selected chunks. Durable on return."""
        ...

    def search(
        self, mode: SearchMode, *, text: str, vector: Vectors | None, limit: int, where: ChunkFilter = EVERYTHING
    ) -> list[Hit]:
        """The best ``limit`` chunks, best first; equal scores in order of chunk id.

        ``vector`` (shape (dimension,)) may be None only for SPARSE; ``text`` feeds BM25. HYBRID fuses both rankings
        inside Qdrant (``layout.py``).
        """
        ...

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        """Every selected chunk, once, in order of document name and position."""
        ...

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        """How many documents and chunks are selected."""
        ...

    def languages(self) -> dict[str, int]:
        """How many chunks there are in each language (two letters)."""
        ...

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The dense vectors of those of the chunks that are there, by chunk id."""
        ...

    def steady(self, read: Callable[[Collection], T]) -> T:
        """What ``read`` finds in the collection that it is given: this one, as of one moment.

        ``read`` may be called again, if what it found belongs to two moments.
        """
        ...

    def optimize(self) -> None:
        """Build indexes after a large upsert; searching works without, only slower."""
        ...

    def close(self) -> None:
        """Release it. Idempotent."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class VectorStore(Protocol):
    """Where collections live."""

    def create(self, spec: CollectionSpec) -> Collection:
        """Open the collection, making it if there is none.

        Raises CollectionMismatch if it exists with another model, dimension or chunking (the message says how to
        rebuild), CollectionLocked if another process has it, StoreUnavailable if it cannot be reached.
        """
        ...

    def open(self, name: str) -> Collection:
        """Open an existing collection. Raises CollectionNotFound (naming those that exist), CollectionLocked."""
        ...

    def list(self) -> list[CollectionSpec]:
        """The collections there are, by name; does not open or lock them."""
        ...

    def drop(self, name: str) -> None:
        """Delete a collection and all in it. Raises CollectionNotFound, CollectionLocked."""
        ...

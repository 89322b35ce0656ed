"""The contract of a vector store. Implementations: ``embedded.py`` (files) and ``qdrant_server/``.

store = EmbeddedStore(folder)
with store.create(CollectionSpec(name="papers", embedding_model="m", dimension=384, chunking="c")) as papers:
    papers.upsert(chunks, vectors)
    hits = papers.search(SearchMode.HYBRID, Query("heat pump", query_vector), limit=10)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from vectorstore.errors import CollectionNotFound
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode, UnreadableCollection

Vectors = npt.NDArray[np.float32]
EVERYTHING = ChunkFilter()
T = TypeVar("T")


class Query(NamedTuple):
    """A query of a search: its text, with the vector and the attention that the embedding model computes."""

    text: str
    vector: Vectors | None = None
    """Shape (dimension,)."""
    attention: Vectors | None = None
    """Each character's share of the model's attention, of shape (len(text),). None if unknown."""


class Searchable(Protocol):
    """The searches and reads of an open collection, or of several (``joined.py``). Threads may share it."""

    @property
    def spec(self) -> CollectionSpec:
        """The specification it was created with."""
        ...

    def search(self, mode: SearchMode, query: Query, limit: int, where: ChunkFilter = EVERYTHING) -> list[Hit]:
        """Return the best ``limit`` chunks, best first; equal scores are ordered by chunk id.

        The vector may be None only for WORDS, and if the search process has the collection open, which then embeds the
        text. HYBRID combines the words of the text with the vector (``ranking.py``).
        """
        ...

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        """Yield every selected chunk once, in order of document name and position."""
        ...

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        """Count the selected documents and chunks."""
        ...

    def languages(self, *, exact: bool = True) -> dict[str, int]:
        """Return the number of chunks per language (ISO 639-1 code).

        Exact counts read every chunk. Inexact counts are fast at every size, but may include deleted chunks.
        """
        ...

    def moments(self) -> Iterator[Searchable]:
        """Yield a view of the collection. Yield another one if the collection changed while it was read.

        What was read from the last view belongs to one state of the collection.
        """
        ...


class Collection(Searchable, Protocol):
    """An open collection. Threads may search it at the same time; closing it releases it for other processes."""

    @property
    def closed(self) -> bool:
        """Whether the collection must be opened again before its next use."""
        ...

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Write chunks with their dense vectors (shape (len(chunks), dimension)). Replaces chunks with the same id.

        Durable on return. Raises CollectionMismatch for a wrong shape, StoreUnavailable if writing fails.
        """
        ...

    def delete(self, where: ChunkFilter) -> None:
        """Delete the selected chunks. Durable on return."""
        ...

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the dense vectors of the given chunks by chunk id. Leaves out chunks that do not exist."""
        ...

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Return the ids that no chunk has, in the given order."""
        ...

    def moments(self) -> Iterator[Searchable]:
        """Yield the collection itself. Only wrappers that hide chunks yield views, and more than one."""
        yield self

    def optimize(
        self, on_build: Callable[[], None] = lambda: None, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until the search index is built, if many chunks wait for it. ``on_build`` is called before the wait.

        The store builds the index in the background after writes, and ``close`` aborts an unfinished build. Call this
        after the last write of a process that ends. Searches work without the index, but are slower. This one does
        nothing, as a search process or a server builds indexes by itself.
        """
        return

    def close(self) -> None:
        """Release the collection. May be called again."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class VectorStore(Protocol):
    """A store of collections, in files or on a server."""

    def create(self, spec: CollectionSpec) -> Collection:
        """Open the collection, creating it if it does not exist.

        Raises CollectionMismatch if it exists with another model, dimension or chunking, CollectionLocked if another
        process has it open, ForeignCollection, StoreUnavailable if the store cannot be reached.
        """
        ...

    def open(self, name: str) -> Collection:
        """Open an existing collection. Raises CollectionNotFound, CollectionLocked."""
        return self.create(require_spec(self, name))

    def claim(self, name: str, *, take_over: bool = False) -> None:
        """Require that this process may change the collection. Call it before changing one.

        A collection on a server belongs to one database (``qdrant_server/store.py``). A collection in a folder belongs
        to everyone who can open it. ``take_over`` makes the database of this process the owner. Raises
        ForeignCollection. A store whose collections have no owner does nothing.
        """
        return

    def require_writable(self) -> None:
        """Raise StoreUnavailable if a server cannot be reached, or its key does not allow to write."""
        return

    def find(self, name: str) -> CollectionSpec | None:
        """Return the specification of a collection without opening or locking it. None if it does not exist.

        Other collections are not read. Raises StoreUnavailable if this one cannot be read.
        """
        ...

    def list(self) -> list[CollectionSpec | UnreadableCollection]:
        """Return the specifications of all collections, by name, without opening or locking them.

        Collections that cannot be read are listed with the reason.
        """
        ...

    def drop(self, name: str) -> None:
        """Delete a collection and its contents. Raises CollectionNotFound, CollectionLocked, ForeignCollection."""
        ...


def require_spec(store: VectorStore, name: str) -> CollectionSpec:
    """Return the specification of a collection. Raises CollectionNotFound, which lists the existing names."""
    spec = store.find(name)
    if spec is None:
        raise CollectionNotFound(name, [each.name for each in store.list()])
    return spec


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most ``size``."""
    left = iter(items)
    while some := list(islice(left, size)):
        yield some

"""A view of a collection that contains only the live version of every document while an ingest changes the collection.

The ledger stores which indexed versions are hidden. ``ledger.py`` describes how a document is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from base.counts import count
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import INDEX_VERSION, DocumentRecord, DocumentSummary
from vectorstore.errors import PassagesLost
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode
from vectorstore.store import EVERYTHING, Collection, Query, Searchable, Vectors

_DOCUMENTS = 1_000  # removed per transaction and request to the store


class LiveCollection(Collection):
    """Wraps a collection and leaves the hidden versions out of its searches, scans and counts.

    ``languages``, ``vectors`` and ``missing`` include hidden versions. A search or scan that finds nothing raises
    PassagesLost if the store has lost the documents.
    """

    def __init__(self, collection: Collection, ledger: Ledger) -> None:
        self._collection, self._ledger = collection, ledger

    @property
    def spec(self) -> CollectionSpec:
        return self._collection.spec

    @property
    def closed(self) -> bool:
        """Whether calls raise CollectionClosed."""
        return self._collection.closed

    def search(self, mode: SearchMode, query: Query, limit: int, where: ChunkFilter = EVERYTHING) -> list[Hit]:
        """Return the best ``limit`` chunks of the live versions."""
        for now in self.moments():
            found = now.search(mode, query, limit, where)
        return found

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        """Iterate over the selected chunks of the live versions. All are read before the first is returned."""
        for now in self.moments():
            found = list(now.scan(where))
        if not found:
            self._require_passages(where)
        return iter(found)

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        """Count the selected documents and chunks of the live versions."""
        for now in self.moments():
            counts = now.count(where)
        return counts

    def moments(self) -> Iterator[Searchable]:
        """Yield views of the live versions until nothing changed while one was read.

        If an ingest publishes a document during the read, the read can return two versions of it, or none. The read is
        repeated until the ledger's change counter is the same before and after it. A comparison of the hidden versions
        would not be sufficient, because a document can be replaced completely during one read.
        """
        name, counter = self.spec.collection, -1
        while counter != (current := self._ledger.changes(name)):
            counter, hidden = current, tuple(sorted(self._ledger.hidden(name)))
            yield _Snapshot(self._collection, self._ledger, hidden)

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        self._collection.upsert(chunks, vectors)

    def delete(self, where: ChunkFilter) -> None:
        self._collection.delete(where)

    def languages(self, *, exact: bool = True) -> dict[str, int]:
        return self._collection.languages(exact=exact)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        return self._collection.vectors(ids)

    def missing(self, ids: Sequence[str]) -> list[str]:
        return self._collection.missing(ids)

    def optimize(
        self, on_build: Callable[[], None] = lambda: None, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        self._collection.optimize(on_build, cancelled)

    def close(self) -> None:
        """Close the wrapped collection."""
        self._collection.close()

    def _require_passages(self, where: ChunkFilter) -> None:
        """Raise PassagesLost if the ledger lists documents, but the store has no passage of them."""
        name, documents = self.spec.collection, where.documents
        if expected := self._ledger.indexed(name, documents).documents:
            stored = self._collection.count(ChunkFilter(documents=documents)).chunks if documents else self.languages()
            if not stored:
                raise PassagesLost(name, count(expected, "document"))


class _Snapshot(LiveCollection):
    """A view of the live versions with a fixed set of hidden versions."""

    def __init__(self, collection: Collection, ledger: Ledger, hidden: tuple[str, ...]) -> None:
        super().__init__(collection, ledger)
        self._hidden = hidden

    def search(self, mode: SearchMode, query: Query, limit: int, where: ChunkFilter = EVERYTHING) -> list[Hit]:
        found = self._collection.search(mode, query, limit, self._live(where))
        if not found:
            self._require_passages(where)
        return found

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        return self._collection.scan(self._live(where))

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        return self._collection.count(self._live(where))

    def moments(self) -> Iterator[Searchable]:
        yield self

    def _live(self, where: ChunkFilter) -> ChunkFilter:
        return where.model_copy(update={"without": {**where.without, INDEX_VERSION: self._hidden}})


def remove_documents(
    collection: Collection, ledger: Ledger, documents: Sequence[DocumentRecord | DocumentSummary], reason: str
) -> None:
    """Delete the chunks of documents. The ledger keeps their records with the reason."""
    name = collection.spec.collection
    for start in range(0, len(documents), _DOCUMENTS):
        some = documents[start : start + _DOCUMENTS]
        ledger.remove(name, some, reason)
        removed = {each.id for each in some}
        collection.delete(ChunkFilter(documents=tuple(removed)))
        ledger.unhide(name, [version for version, owner in ledger.hidden(name).items() if owner in removed])


def delete_hidden_chunks(collection: Collection, ledger: Ledger, name: str) -> None:
    """Delete the hidden chunks of the collection ``name``. These were replaced, or left behind by a killed ingest."""
    hidden = ledger.hidden(name)
    for version, document in hidden.items():
        collection.delete(ChunkFilter(documents=(document,), metadata={INDEX_VERSION: version}))
    ledger.unhide(name, list(hidden))

"""What searches see of a collection that is being changed: for every document its live edition, whole, and only that.

The ledger says which editions are hidden; see ledger.py for the order in which store and ledger are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Self

from ingest.ledger.ledger import Ledger
from ingest.ledger.records import EDITION, DocumentRecord, Known
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode
from vectorstore.store import EVERYTHING, Collection, T, Vectors


class LiveCollection:
    """A collection without its hidden editions; what else it does, the wrapped one does."""

    def __init__(self, collection: Collection, ledger: Ledger) -> None:
        self._collection = collection
        self._ledger = ledger

    @property
    def spec(self) -> CollectionSpec:
        """What it was made with."""
        return self._collection.spec

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Write chunks with their vectors."""
        self._collection.upsert(chunks, vectors)

    def delete(self, where: ChunkFilter) -> None:
        """Delete the selected chunks."""
        self._collection.delete(where)

    def search(
        self, mode: SearchMode, *, text: str, vector: Vectors | None, limit: int, where: ChunkFilter = EVERYTHING
    ) -> list[Hit]:
        """The best ``limit`` chunks of the live editions."""
        return self.consistent_read(lambda now: now.search(mode, text=text, vector=vector, limit=limit, where=where))

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        """Every selected chunk of the live editions; all are read before the first is given."""
        return iter(self.consistent_read(lambda now: list(now.scan(where))))

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        """How many documents and chunks of live editions are selected."""
        return self.consistent_read(lambda now: now.count(where))

    def languages(self) -> dict[str, int]:
        """How many chunks there are in each language, hidden editions included."""
        return self._collection.languages()

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The dense vectors of those of the chunks that are there, by chunk id."""
        return self._collection.vectors(ids)

    def optimize(self) -> None:
        """Build indexes."""
        self._collection.optimize()

    def close(self) -> None:
        """Release it."""
        self._collection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def consistent_read(self, read: Callable[[Collection], T]) -> T:
        """What ``read`` finds in the live editions of one moment.

        It reads again if an ingest beside us changed meanwhile what is hidden: else a document that it replaced in that
        moment could be seen twice, or not at all. That the same is hidden as before does not tell: a whole replacement
        may have come and gone.
        """
        name, number = self.spec.collection, -1
        while number != (now := self._ledger.changes(name)):
            number, hidden = now, tuple(sorted(self._ledger.hidden(name)))
            found = read(_Moment(self._collection, self._ledger, hidden))
        return found


class _Moment(LiveCollection):
    """The live editions while these are hidden."""

    def __init__(self, collection: Collection, ledger: Ledger, hidden: tuple[str, ...]) -> None:
        super().__init__(collection, ledger)
        self._hidden = hidden

    def search(
        self, mode: SearchMode, *, text: str, vector: Vectors | None, limit: int, where: ChunkFilter = EVERYTHING
    ) -> list[Hit]:
        return self._collection.search(mode, text=text, vector=vector, limit=limit, where=self._live(where))

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        return self._collection.scan(self._live(where))

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        return self._collection.count(self._live(where))

    def consistent_read(self, read: Callable[[Collection], T]) -> T:
        return read(self)

    def _live(self, where: ChunkFilter) -> ChunkFilter:
        return where.model_copy(update={"without": {**where.without, EDITION: self._hidden}})


def remove_document(collection: Collection, ledger: Ledger, document: DocumentRecord | Known, reason: str) -> None:
    """Take a document out of the collection. The ledger keeps that it was there, and why it went."""
    name = collection.spec.collection
    ledger.remove(name, document.id, document.edition, reason)
    collection.delete(ChunkFilter(documents=(document.id,)))
    ledger.unhide(name, [edition for edition, owner in ledger.hidden(name).items() if owner == document.id])


def sweep(collection: Collection, ledger: Ledger, name: str) -> None:
    """Delete what the ledger hides under this name: chunks that were replaced, or written by an ingest that did not
    come to its end."""
    hidden = ledger.hidden(name)
    for edition, document in hidden.items():
        collection.delete(ChunkFilter(documents=(document,), metadata={EDITION: edition}))
    ledger.unhide(name, list(hidden))

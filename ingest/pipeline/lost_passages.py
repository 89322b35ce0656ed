"""Compares the store with the ledger.

A store loses passages when its volume or folder is lost, when an older snapshot replaces it, or when another program
deletes them. An older snapshot also brings back documents that were removed since.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from pydantic import Field

from base.counts import count
from base.models import FrozenModel
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentState, DocumentSummary
from ingest.pipeline.chunks import chunk_id
from ingest.pipeline.stored_text import StoredTextIngest
from ingest.pipeline.tally import IngestReport, Progress, Tally
from vectorstore.errors import CollectionLocked
from vectorstore.models import ChunkFilter, CollectionSpec
from vectorstore.store import Collection, VectorStore

_IDS = 5_000  # chunk ids per request
_DOCUMENTS = 1_000  # documents per request


class Difference(FrozenModel):
    """The difference between the ledger and the store."""

    missing: tuple[DocumentSummary, ...] = Field(default=(), description="documents that lack passages in the store")
    unlisted: int = Field(default=0, description="passages of the store that belong to no document of the ledger")
    uncompared: str = Field(default="", description="why the collection could not be opened")

    def __bool__(self) -> bool:
        return bool(self.missing or self.unlisted)

    def __str__(self) -> str:
        parts = [f"not compared with the store: {self.uncompared}"] if self.uncompared else []
        parts += [f"{count(len(self.missing), 'document')} missing from the store"] if self.missing else []
        parts += [f"{count(self.unlisted, 'passage')} in the store without a document"] if self.unlisted else []
        return ", ".join(parts)

    @property
    def notices(self) -> list[str]:
        """The messages to show before an ingest repairs the store."""
        notices = [f"The store was not compared with the database: {self.uncompared}"] if self.uncompared else []
        if self.missing:
            are = "document is" if len(self.missing) == 1 else "documents are"
            notices.append(
                f"{len(self.missing):,} {are} missing from the store and will be restored from the stored text."
            )
        if self.unlisted:
            notices.append(
                f"The store has {count(self.unlisted, 'passage')} without a document in the database. Those of removed "
                "documents will be deleted."
            )
        return notices


def compare(collection: Collection | None, ledger: Ledger, known: Mapping[str, DocumentSummary]) -> Difference:
    """Compare the stored collection with the ledger's snapshot of it. None means that the store has no such collection.

    Looks up one passage of each document. Looks up all passages if one was not found or the store has too few.
    """
    live = [each for each in known.values() if each.chunks]
    if collection is None:
        return Difference(missing=tuple(live))
    stored, expected = sum(collection.languages().values()), sum(each.chunks for each in live)
    lost = _lost(collection, ((each, each.chunks - 1) for each in live))
    if lost or stored < expected:
        lost = _lost(collection, ((each, index) for each in live for index in range(each.chunks)))
    unlisted = stored - (expected - len(lost))
    if ledger.hidden(collection.spec.collection):  # an interrupted ingest has left passages, which the next one uses
        unlisted = 0
    return Difference(missing=tuple(dict.fromkeys(lost)), unlisted=max(unlisted, 0))


def find_difference(
    store: VectorStore, stored: CollectionSpec | None, ledger: Ledger, known: Mapping[str, DocumentSummary]
) -> Difference:
    """Open the stored collection and compare it with the ledger's snapshot. Raises StoreError."""
    if stored is None:
        return compare(None, ledger, known)
    try:
        with store.create(stored) as collection:  # it exists; unlike ``open``, this does not list all collections
            return compare(collection, ledger, known)
    except CollectionLocked as error:
        return Difference(uncompared=str(error))


def repair(
    report: IngestReport,
    collection: Collection,
    ledger: Ledger,
    documents: StoredTextIngest,
    progress: Callable[[Progress], None],
    cancelled: Callable[[], bool],
) -> IngestReport:
    """Restore documents that are still missing after an ingest, and delete removed ones. Return the updated report.

    Raises StoreError, IngestError.
    """
    known = ledger.snapshot(report.collection)
    difference = compare(collection, ledger, known)
    if difference.unlisted:
        _delete_removed(collection, known)
    tally = Tally(len(difference.missing), progress, cancelled)
    documents.write(difference.missing, tally)
    return report.model_copy(
        update={
            "restored": tally.indexed,
            "chunks": report.chunks + tally.chunks,
            "embedded": report.embedded + tally.embedded,
            "tokens": report.tokens + tally.tokens,
            "seconds": round(report.seconds + tally.seconds, 3),
            "cancelled": tally.was_cancelled,
        }
    )


def _delete_removed(collection: Collection, known: Mapping[str, DocumentSummary]) -> None:
    """Delete the passages of documents that were removed from the ledger."""
    removed = [each.id for each in known.values() if each.state is DocumentState.REMOVED]
    for start in range(0, len(removed), _DOCUMENTS):
        collection.delete(ChunkFilter(documents=tuple(removed[start : start + _DOCUMENTS])))


def _lost(collection: Collection, passages: Iterable[tuple[DocumentSummary, int]]) -> list[DocumentSummary]:
    """Return the document of each missing passage. ``passages`` are documents with positions."""
    remaining = iter(passages)
    lost: list[DocumentSummary] = []
    while batch := {chunk_id(each.index_version, index): each for each, index in islice(remaining, _IDS)}:
        lost += [batch[identity] for identity in collection.missing(list(batch))]
    return lost

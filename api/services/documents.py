"""Looking at ingested documents, and taking one out."""

from __future__ import annotations

from pathlib import Path

from api.bootstrap import Candor
from api.errors import UsageError
from ingest.ledger.records import DocumentRecord, DocumentState
from vectorstore.errors import CollectionNotFound
from vectorstore.store import Collection


def list_documents(candor: Candor, collection: str | None, state: str | None) -> list[DocumentRecord]:
    """The documents of a collection, all or those in one state. Raises UsageError, CollectionNotFound."""
    if state is not None and state not in list(DocumentState):
        raise UsageError(f"There is no state {state!r}; there are {', '.join(DocumentState)}.")
    name = _existing(candor, collection)
    return candor.ledger.list(name, DocumentState(state) if state else None)


def find_document(candor: Candor, reference: str, collection: str | None) -> DocumentRecord:
    """The document that is meant. Raises UsageError, CollectionNotFound, IngestError."""
    return candor.ledger.find(_existing(candor, collection), reference)


def remove_document(candor: Candor, reference: str, collection: str | None) -> DocumentRecord:
    """Take a document out of its collection; gives what it was. Raises UsageError, IngestError, StoreError."""
    found = find_document(candor, reference, collection)
    with candor.change_collection(found.collection) as opened:
        take_out(candor, opened, found)
    return found


def take_out(candor: Candor, opened: Collection, found: DocumentRecord) -> None:
    """Remove a document, and what lies in it if it is an archive, from a collection that nobody else changes.

    Its file stays, unless it was uploaded: then it is Candor's own copy, and goes with it.
    """
    from ingest.ledger.versions import remove_document as remove

    for member in candor.ledger.list(found.collection):
        if member.container == found.path and member.state is not DocumentState.REMOVED:
            remove(opened, candor.ledger, member, "removed by hand, with what held it")
    remove(opened, candor.ledger, found, "removed by hand")
    path = Path(found.path)
    if not found.container and candor.uploads.holds(found.collection, path):
        candor.uploads.remove(path)


def _existing(candor: Candor, collection: str | None) -> str:
    name = candor.collection_name(collection)
    known = [spec.collection for spec in candor.collections()]
    if name not in known:
        raise CollectionNotFound(name, known)
    return name

"""The open collections of the service.

All requests share one handle of a collection, and its connections to the search process (``vectorstore/remote/``).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from api.errors import ServiceEnding
from api.services.documents.collections import Collections
from api.services.research.library import CollectionLibrary
from vectorstore.errors import CollectionNotFound, PassagesLost
from vectorstore.models import CollectionSpec, names_in
from vectorstore.store import Collection


@dataclass(frozen=True)
class OpenCollection:
    """Three views of an open collection: all stored versions, the live documents, and the library of the panel."""

    stored: Collection
    collection: Collection
    library: CollectionLibrary


class CollectionPool:
    """Opens each collection on first use and keeps it open until ``close``. Calls block."""

    def __init__(self, collections: Collections) -> None:
        self._collections = collections
        self._lock = threading.Lock()
        self._opened: dict[str, OpenCollection] = {}
        self._closed = False

    def get(self, name: str, *, any_model: bool = False) -> OpenCollection:
        """Return the live version of a collection. Runs that use a replaced version keep that version.

        Raises StoreError, ServiceEnding.
        """
        opened = self._get(name, any_model=any_model)
        self._collections.require_records(opened.stored)
        return opened

    def _get(self, name: str, *, any_model: bool = False) -> OpenCollection:
        with self._lock:
            if self._closed:
                raise ServiceEnding
            alias = self._collections.alias_of(name, any_model=any_model)
            opened = self._opened.get(alias)
            if opened is None or opened.stored.closed:  # a command may have deleted it and created it again
                opened = self._opened[alias] = self._open(name, alias)
            return opened

    def library(self, selection: str) -> CollectionLibrary:
        """Return the panel's view of the live versions of collections. Raises StoreError, ServiceEnding."""
        names = names_in(selection)
        if len(names) == 1:
            return replace(self.get(selection).library, reranker=self._collections.reranker)
        opened = {name: self.get(name, any_model=True).collection for name in names}
        return self._collections.library(selection, self._collections.join(opened))

    def words_alone(self, selection: str) -> str:
        """Return why collections are searched by words alone. Empty if they are not. Raises StoreError."""
        return self._collections.words_alone(selection)

    @contextmanager
    def open_or_create(self, spec: CollectionSpec) -> Iterator[Collection]:
        """Yield the stored collection and keep it open. The caller must hold its ingest lock. Raises StoreError."""
        try:
            opened = self._get(spec.collection)
        except (CollectionNotFound, PassagesLost):
            self._collections.store.create(spec).close()
            opened = self._get(spec.collection)
        yield opened.stored

    def drop(self, name: str) -> None:
        """Close and delete a collection. Readers that still use it get an error. Raises StoreError, IngestError."""
        with self._lock:
            self._collections.drop(name, lambda: self._close(name))

    def _open(self, name: str, alias: str) -> OpenCollection:
        self._collections.load_embedder()  # before opening, so a failure leaves nothing open
        stored = self._collections.store.open(alias)
        collection = self._collections.live(stored)
        return OpenCollection(stored, collection, self._collections.library(name, collection))

    def _close(self, name: str) -> None:
        for alias in [alias for alias, opened in self._opened.items() if opened.stored.spec.collection == name]:
            self._opened.pop(alias).collection.close()

    def close(self) -> None:
        """Close all collections. Idempotent."""
        with self._lock:
            self._closed = True
            while self._opened:
                _, opened = self._opened.popitem()
                opened.collection.close()

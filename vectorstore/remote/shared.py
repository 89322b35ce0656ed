"""The open collections of a store, which several users share: an embedded collection can be open only once."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Self

from vectorstore.errors import StoreUnavailable
from vectorstore.models import CollectionSpec
from vectorstore.qdrant_schema import require_same_spec
from vectorstore.store import Collection, VectorStore, require_spec


class SharedStore:
    """Wraps a store. A collection stays open until it is deleted, or until the end of the block."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._opened: dict[str, Collection] = {}

    def create(self, spec: CollectionSpec) -> Collection:
        """Return the open collection, creating it if it does not exist."""
        with self._lock:
            if spec.name in self._opened and self._store.find(spec.name) is None:
                with suppress(StoreUnavailable):  # it cannot be flushed, because its files were deleted
                    self._opened.pop(spec.name).close()
            if opened := self._opened.get(spec.name):
                require_same_spec(opened.spec, spec)
                return opened
            opened = self._opened[spec.name] = self._store.create(spec)
            return opened

    def open(self, name: str) -> Collection:
        """Return an existing collection, open."""
        return self.create(require_spec(self._store, name))

    def drop(self, name: str) -> None:
        """Delete a collection and its contents. Calls of its users raise CollectionClosed from now on."""
        with self._lock:
            if opened := self._opened.pop(name, None):
                opened.close()
            self._store.drop(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close all collections. Those that cannot be flushed keep what they have in their logs."""
        for opened in self._opened.values():
            with suppress(StoreUnavailable):
                opened.close()

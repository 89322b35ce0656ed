"""A store whose collections can be opened several times in one process. All users share one open collection.

An embedded collection can be open only once, but a process that serves its collections to other processes also uses
them itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from vectorstore.errors import CollectionClosed, StoreUnavailable
from vectorstore.models import CollectionSpec, UnreadableCollection
from vectorstore.qdrant_schema import require_same_spec
from vectorstore.store import Collection, VectorStore
from vectorstore.wrapper import CollectionWrapper


@dataclass
class _Opened:
    """An open collection and the number of its users."""

    collection: Collection
    users: int = 0


class SharedStore:
    """Wraps a store. A collection is closed when its last user closes it."""

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._opened: dict[str, _Opened] = {}

    def create(self, spec: CollectionSpec) -> SharedCollection:
        """Open the collection, creating it if it does not exist."""
        with self._lock:
            opened = self._opened.get(spec.name)
            if opened and spec.name not in {each.name for each in self._store.list()}:
                del self._opened[spec.name]
                with suppress(StoreUnavailable):  # it cannot be flushed, because its files were deleted
                    opened.collection.close()
            elif opened:
                require_same_spec(opened.collection.spec, spec)
            return self._share(spec.name, lambda: self._store.create(spec))

    def open(self, name: str) -> SharedCollection:
        """Open an existing collection."""
        with self._lock:
            return self._share(name, lambda: self._store.open(name))

    def claim(self, name: str, *, take_over: bool = False) -> None:
        """Require that this process may change the collection."""
        self._store.claim(name, take_over=take_over)

    def find(self, name: str) -> CollectionSpec | None:
        """Return the specification of a collection, or None if it does not exist."""
        return self._store.find(name)

    def list(self) -> list[CollectionSpec | UnreadableCollection]:
        """Return the specifications of all collections, by name."""
        return self._store.list()

    def drop(self, name: str) -> None:
        """Delete a collection and its contents. Calls of its users raise CollectionClosed from now on."""
        with self._lock:
            if opened := self._opened.pop(name, None):
                opened.collection.close()
            self._store.drop(name)

    def _share(self, name: str, open_collection: Callable[[], Collection]) -> SharedCollection:
        opened = self._opened.get(name)
        if opened is None:
            opened = self._opened[name] = _Opened(open_collection())
        opened.users += 1
        return SharedCollection(opened.collection, lambda: self._leave(name, opened))

    def _leave(self, name: str, opened: _Opened) -> None:
        with self._lock:
            opened.users -= 1
            if not opened.users:
                if self._opened.get(name) is opened:  # otherwise it was dropped, and perhaps created again
                    del self._opened[name]
                opened.collection.close()


class SharedCollection(CollectionWrapper):
    """A user's handle of an open collection. Closing the last handle closes the collection."""

    def __init__(self, collection: Collection, leave: Callable[[], None]) -> None:
        super().__init__(collection)
        self._leave: Callable[[], None] | None = leave
        self._leaving = threading.Lock()

    @property
    def closed(self) -> bool:
        """Whether this handle or the collection is closed."""
        return self._leave is None or self._wrapped.closed

    @property
    def _collection(self) -> Collection:
        if self._leave is None:
            raise CollectionClosed(f"Collection {self.spec.name!r} is closed.")
        return self._wrapped

    def close(self) -> None:
        """Release the collection. May be called again."""
        with self._leaving:
            leave, self._leave = self._leave, None
        if leave:
            leave()

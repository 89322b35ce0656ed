"""Collections that stay open. An embedded one belongs to one process and can be opened once: all share it.

While the service has it open, another process that wants to change it is told so, with the service's name.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from api.bootstrap import Candor
from api.errors import ServiceEnding
from api.services.library import CollectionLibrary
from api.services.priority_executor import PriorityExecutor
from vectorstore.errors import CollectionNotFound
from vectorstore.models import CollectionSpec
from vectorstore.store import Collection


@dataclass(frozen=True)
class Opened:
    """A collection as it is stored, as searches see it, and as the panel does."""

    stored: Collection
    collection: Collection
    library: CollectionLibrary


class CollectionPool:
    """Opens a collection when it is first asked for, and all of them stay open until ``close``. Calls block.

    ``searches`` gives searches of users priority over searches of runs.
    """

    def __init__(self, candor: Candor) -> None:
        self._candor = candor
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._opened: dict[str, Opened] = {}
        self._closed = False
        self.searches = PriorityExecutor()

    def take(self, name: str) -> Opened:
        """The collection as it is searched now. Raises StoreError, ServiceEnding.

        One that was built anew for another place in the store is opened there; runs that have the one before go on
        with it.
        """
        with self._lock:
            if self._closed:
                raise ServiceEnding
            place = self._candor.place_of(name)
            if place not in self._opened:
                self._opened[place] = self._open(name, place)
            return self._opened[place]

    @contextmanager
    def open_or_create(self, spec: CollectionSpec) -> Iterator[Collection]:
        """The stored collection, which stays open. For the holder of its ingest lock. Raises StoreError."""
        try:
            opened = self.take(spec.collection)
        except CollectionNotFound:
            self._candor.store.create(spec).close()
            opened = self.take(spec.collection)
        yield opened.stored

    def drop(self, name: str) -> None:
        """Delete a collection; who still reads in it is told that it is closed. Raises StoreError, IngestError."""
        with self._lock:
            self._candor.drop(name, lambda: self._close(name))

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait until nobody else of this process changes the collection so."""
        with self._lock:
            turn = self._turns.setdefault(name, threading.Lock())
        with turn:
            yield

    def _open(self, name: str, place: str) -> Opened:
        _ = self._candor.embedder  # first, so that nothing is left open if it cannot be loaded
        stored = self._candor.store.open(place)
        collection = self._candor.live(stored)
        opened = Opened(stored, collection, self._candor.library(name, collection))
        gc.collect()  # see docs/concurrency.md
        gc.freeze()
        return opened

    def _close(self, name: str) -> None:
        """Release every place of the collection."""
        for place in [place for place, opened in self._opened.items() if opened.stored.spec.collection == name]:
            self._opened.pop(place).collection.close()

    def close(self) -> None:
        """Release all. Idempotent."""
        self.searches.close()
        with self._lock:
            self._closed = True
            while self._opened:
                _, opened = self._opened.popitem()
                opened.collection.close()

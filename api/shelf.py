"""Collections that stay open. An embedded one belongs to one process and can be opened once: all share it.

While the service has it open, another process that wants to change it is told so, with the service's name.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from api.bootstrap import Candor
from api.errors import ServiceEnding
from api.library import CollectionLibrary
from vectorstore.store import Collection


@dataclass(frozen=True)
class Opened:
    """A collection as searches see it, and as the panel does."""

    collection: Collection
    library: CollectionLibrary


class Shelf:
    """Opens a collection when it is first asked for, and all of them stay open until ``close``. Calls block."""

    def __init__(self, candor: Candor) -> None:
        self._candor = candor
        self._lock = threading.Lock()
        self._opened: dict[str, Opened] = {}
        self._closed = False

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

    def _open(self, name: str, place: str) -> Opened:
        _ = self._candor.embedder  # first, so that nothing is left open if it cannot be loaded
        collection = self._candor.live(self._candor.store.open(place))
        return Opened(collection, self._candor.library(name, collection))

    def close(self) -> None:
        """Release all. Idempotent."""
        with self._lock:
            self._closed = True
            while self._opened:
                _, opened = self._opened.popitem()
                opened.collection.close()

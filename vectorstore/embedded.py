"""The embedded collections of a folder, for any number of processes.

Only one process can open an embedded collection (``edge.py``). While one process serves the folder, all other processes
use its collections through that process (``remote/``). This includes collections that the serving process has not
opened yet, because a command that opens a collection locks it. If no process serves the folder, a command opens the
collection itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vectorstore.edge import EdgeStore
from vectorstore.errors import CollectionLocked
from vectorstore.models import CollectionSpec, UnreadableCollection
from vectorstore.remote.address import read_address
from vectorstore.remote.client import RemoteStore, ServiceGone
from vectorstore.remote.server import StoreServer
from vectorstore.shared import SharedStore
from vectorstore.store import Collection, T, VectorStore


class EmbeddedStore:
    """Collections in a local folder, opened here or in the process that serves them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._edge = EdgeStore(folder)
        self._shared: SharedStore | None = None  # while this process serves

    def create(self, spec: CollectionSpec) -> Collection:
        """Open the collection, creating it if it does not exist."""
        return self._call(lambda store: store.create(spec))

    def open(self, name: str) -> Collection:
        """Open an existing collection."""
        return self._call(lambda store: store.open(name))

    def claim(self, name: str, *, take_over: bool = False) -> None:
        """Do nothing. A collection in a folder has no owner."""

    def find(self, name: str) -> CollectionSpec | None:
        """Return the specification of a collection, or None if it does not exist."""
        return self._edge.find(name)  # reads files that any process may read

    def list(self) -> list[CollectionSpec | UnreadableCollection]:
        """Return the specifications of all collections, by name."""
        return self._edge.list()  # reads files that any process may read

    def drop(self, name: str) -> None:
        """Delete a collection and its contents."""
        self._call(lambda store: store.drop(name))

    @contextmanager
    def serve(self, give_way: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Let other processes use the collections through this one until the end of the block.

        ``give_way`` is called before each of their requests; it may wait for more urgent work of this process.
        Raises StoreUnavailable.
        """
        self._shared = SharedStore(EdgeStore(self._folder, serving=True))
        try:
            with StoreServer(self._shared, self._folder, give_way):
                yield
        finally:
            self._shared = None

    def _call(self, action: Callable[[VectorStore], T]) -> T:
        if self._shared:
            return action(self._shared)
        with suppress(ServiceGone):
            return self._call_service(action)
        try:
            return action(self._edge)
        except CollectionLocked as locked:
            try:  # a service may have started in the meantime
                return self._call_service(action)
            except ServiceGone:
                raise locked from None

    def _call_service(self, action: Callable[[VectorStore], T]) -> T:
        """Run the action in the process that serves the folder. Raises ServiceGone if there is none."""
        address = read_address(self._folder)
        if address is None:
            raise ServiceGone
        return action(RemoteStore(address))

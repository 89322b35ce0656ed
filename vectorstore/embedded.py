"""The embedded collections of a folder, for any number of processes.

Only one process can open an embedded collection (``edge/``). While a service runs, its search process does, and all
other processes use the collections through it (``remote/``). This includes collections that it has not opened yet,
because a command that opens a collection locks it. If no service runs, a command opens the collection itself.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from vectorstore.edge.store import EdgeStore
from vectorstore.errors import CollectionLocked
from vectorstore.models import CollectionSpec, UnreadableCollection
from vectorstore.remote.address import ServiceAddress, read_address
from vectorstore.remote.client import RemoteStore, ServiceGone
from vectorstore.store import Collection, VectorStore

T = TypeVar("T")


class EmbeddedStore(VectorStore):
    """Collections in a local folder, opened here or in the search process of a service."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._edge = EdgeStore(folder)
        self.served_at: ServiceAddress | None = None
        """The address that this process serves, if it is the service. Its searches are urgent, because users wait."""

    def create(self, spec: CollectionSpec) -> Collection:
        return self._call(lambda store: store.create(spec))

    def open(self, name: str) -> Collection:
        return self._call(lambda store: store.open(name))

    def find(self, name: str) -> CollectionSpec | None:
        return self._edge.find(name)  # reads files that any process may read

    def list(self) -> list[CollectionSpec | UnreadableCollection]:
        return self._edge.list()  # reads files that any process may read

    def require_writable(self) -> None:
        self._edge.require_writable()

    def drop(self, name: str) -> None:
        self._call(lambda store: store.drop(name))

    def _call(self, action: Callable[[EdgeStore | RemoteStore], T]) -> T:
        with suppress(ServiceGone):
            return self._call_service(action)
        try:
            return action(self._edge)
        except CollectionLocked as locked:
            try:  # a service may have started in the meantime
                return self._call_service(action)
            except ServiceGone:
                raise locked from None

    def _call_service(self, action: Callable[[EdgeStore | RemoteStore], T]) -> T:
        """Run the action in the search process. Raises ServiceGone if there is none."""
        address = self.served_at or read_address(self._folder)
        if address is None:
            raise ServiceGone
        return action(RemoteStore(address, urgent=self.served_at is not None))

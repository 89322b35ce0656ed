"""A client for the vector store that another process serves (``server.py``)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Self

import numpy as np
from pydantic import TypeAdapter

from vectorstore.errors import CollectionClosed, StoreUnavailable
from vectorstore.models import (
    Chunk,
    ChunkFilter,
    CollectionSpec,
    Counts,
    FrozenModel,
    Hit,
    SearchMode,
    UnreadableCollection,
)
from vectorstore.qdrant_schema import validate_query, validate_vectors
from vectorstore.remote.address import ServiceAddress
from vectorstore.remote.messages import (
    BATCH,
    Count,
    CountLanguages,
    Create,
    Delete,
    Drop,
    Find,
    FindMissing,
    Hello,
    ListCollections,
    Open,
    ReadVectors,
    Reply,
    Request,
    Scan,
    Search,
    Upsert,
    receive,
    send,
    to_array,
    to_body,
    to_exception,
)
from vectorstore.remote.server import HANDSHAKE_S
from vectorstore.store import EVERYTHING, Collection, T, Vectors

_SPEC: TypeAdapter[CollectionSpec | None] = TypeAdapter(CollectionSpec | None)
_SPECS: TypeAdapter[list[CollectionSpec | UnreadableCollection]] = TypeAdapter(
    list[CollectionSpec | UnreadableCollection]
)
_CHUNKS = TypeAdapter(list[Chunk])
_HITS = TypeAdapter(list[Hit])
_IDS = TypeAdapter(list[str])
_LANGUAGES = TypeAdapter(dict[str, int])


class ServiceGone(StoreUnavailable):
    """No process serves the store at this address any more."""


class RemoteStore:
    """The collections of the process at ``address``. Raises ServiceGone if it has ended."""

    def __init__(self, address: ServiceAddress) -> None:
        self._address = address

    def create(self, spec: CollectionSpec) -> RemoteCollection:
        """Open the collection, creating it if it does not exist."""
        return self._open(Create(spec=spec))

    def open(self, name: str) -> RemoteCollection:
        """Open an existing collection."""
        return self._open(Open(name=name))

    def claim(self, name: str, *, take_over: bool = False) -> None:
        """Do nothing. A collection in a folder has no owner."""

    def find(self, name: str) -> CollectionSpec | None:
        """Return the specification of a collection, or None if it does not exist."""
        return _SPEC.validate_json(self._call(Find(name=name)))

    def list(self) -> list[CollectionSpec | UnreadableCollection]:
        """Return the specifications of all collections, by name."""
        return _SPECS.validate_json(self._call(ListCollections()))

    def drop(self, name: str) -> None:
        """Delete a collection and its contents."""
        self._call(Drop(name=name))

    def _call(self, request: Request) -> bytes:
        with _Session(self._address) as session:
            return session.call(request)

    def _open(self, request: Create | Open) -> RemoteCollection:
        session = _Session(self._address)
        try:
            return RemoteCollection(CollectionSpec.model_validate_json(session.call(request)), self._address, session)
        except BaseException:
            session.close()
            raise


class RemoteCollection:
    """A collection that another process has open. Threads that use it in parallel have a connection each."""

    def __init__(self, spec: CollectionSpec, address: ServiceAddress, session: _Session) -> None:
        self._spec, self._address = spec, address
        self._lock = threading.Lock()
        self._idle = [session]
        self._closed = False

    @property
    def spec(self) -> CollectionSpec:
        """The specification it was created with."""
        return self._spec

    @property
    def closed(self) -> bool:
        """Whether the collection was closed in this process, or the serving process has ended."""
        return self._closed

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Write chunks with their vectors. Replaces chunks with the same id. Durable on return."""
        validate_vectors(self._spec, chunks, vectors)
        for start in range(0, len(chunks), BATCH):
            rows = vectors[start : start + BATCH]
            request = Upsert(chunks=tuple(chunks[start : start + BATCH]), shape=rows.shape)
            self._call(request, to_body(rows))

    def delete(self, where: ChunkFilter) -> None:
        """Delete the selected chunks. Durable on return."""
        self._call(Delete(where=where))

    def search(
        self, mode: SearchMode, *, text: str, vector: Vectors | None, limit: int, where: ChunkFilter = EVERYTHING
    ) -> list[Hit]:
        validate_query(self._spec, mode, vector)
        shape, body = (None, b"") if vector is None else (vector.shape, to_body(vector))
        request = Search(mode=mode, text=text, shape=shape, limit=limit, where=where)
        return _HITS.validate_json(self._call(request, body))

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        with self._session() as session:
            for _, body in session.stream(Scan(where=where)):
                yield from _CHUNKS.validate_json(body)

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        return Counts.model_validate_json(self._call(Count(where=where)))

    def languages(self) -> dict[str, int]:
        return _LANGUAGES.validate_json(self._call(CountLanguages()))

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for start in range(0, len(ids), BATCH):
            with self._session() as session:
                for reply, body in session.stream(ReadVectors(ids=tuple(ids[start : start + BATCH]))):
                    rows = to_array(body, (len(reply.ids), self._spec.dimension))
                    found.update(zip(reply.ids, np.array(rows), strict=True))  # a copy that may be changed
        return found

    def missing(self, ids: Sequence[str]) -> list[str]:
        return _IDS.validate_json(self._call(FindMissing(ids=tuple(ids))))

    def consistent_read(self, read: Callable[[Collection], T]) -> T:
        """Return ``read(self)``. Only wrappers that hide chunks read more than once."""
        return read(self)

    def optimize(
        self, on_build: Callable[[], None] = lambda: None, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        """Do nothing. The serving process builds the index in the background."""

    def close(self) -> None:
        """Release the collection. May be called again."""
        with self._lock:
            self._closed = True
            sessions, self._idle = self._idle, []
        for session in sessions:
            session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, request: Request, body: bytes = b"") -> bytes:
        with self._session() as session:
            return session.call(request, body)

    @contextmanager
    def _session(self) -> Iterator[_Session]:
        """Reserve a connection for this thread until the end of the block."""
        with self._lock:
            if self._closed:
                raise CollectionClosed(f"Collection {self._spec.name!r} is closed.")
            session = self._idle.pop() if self._idle else None
        try:
            session = session or self._connect()
            yield session
        except ServiceGone:
            self.close()
            raise
        finally:
            if session:
                self._take_back(session)

    def _connect(self) -> _Session:
        session = _Session(self._address)
        try:
            found = CollectionSpec.model_validate_json(session.call(Open(name=self._spec.name)))
            if found != self._spec:
                raise CollectionClosed(f"Collection {self._spec.name!r} was deleted and created again.")
        except BaseException:
            session.close()
            raise
        return session

    def _take_back(self, session: _Session) -> None:
        with self._lock:
            if keep := session.between_requests and not self._closed:
                self._idle.append(session)
        if not keep:
            session.close()


class _Session:
    """One connection to the serving process. Belongs to one thread at a time. Raises ServiceGone."""

    def __init__(self, address: ServiceAddress) -> None:
        self._pid = address.pid
        self.between_requests = False
        with self._until_gone():
            self._connection = _connect(address)
        try:
            self._greet(address)
        except BaseException:
            self.close()
            raise

    def call(self, request: Request, body: bytes = b"") -> bytes:
        """Return the result of a request that has one reply. Raises the exception of the serving process."""
        [(_, result)] = self.stream(request, body)
        return result

    def stream(self, request: FrozenModel, body: bytes = b"") -> Iterator[tuple[Reply, bytes]]:
        """Yield the replies to a request. Raises the exception of the serving process."""
        self.between_requests = False
        with self._until_gone():
            send(self._connection, request, body)
        while not self.between_requests:
            with self._until_gone():
                header, result = receive(self._connection)
            reply = Reply.model_validate_json(header)
            self.between_requests = not reply.more
            if reply.failure:
                raise to_exception(reply.failure)
            yield reply, result

    def close(self) -> None:
        """Close the connection. May be called again."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _greet(self, address: ServiceAddress) -> None:
        with self._until_gone():
            send(self._connection, Hello(secret=address.secret))
            if not self._connection.poll(HANDSHAKE_S):
                raise StoreUnavailable(
                    f"The Candor service (process {self._pid}), which has the collections open, did not respond within "
                    f"{HANDSHAKE_S:.0f} s. Try again when it is less busy, or end it."
                )
            header, _ = receive(self._connection)
        if failure := Reply.model_validate_json(header).failure:
            raise to_exception(failure)
        self.between_requests = True

    @contextmanager
    def _until_gone(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError) as error:
            raise ServiceGone(
                f"The Candor service (process {self._pid}) ended while this process used its collections. Stored data "
                "is kept."
            ).with_command("Run the command again. It does not need the service.") from error


def _connect(address: ServiceAddress) -> Connection:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(HANDSHAKE_S)
        client.connect(str(address.socket))
        client.settimeout(None)
        return Connection(client.detach())

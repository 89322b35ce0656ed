"""A client of the search process (``server.py``): its store, and the embedding of queries."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from base.rpc import receive
from vectorstore.embedding.model_folder import BUNDLE_LANGUAGES
from vectorstore.errors import CollectionClosed, CollectionNotFound, StoreUnavailable
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode
from vectorstore.qdrant_schema import validate_query, validate_vectors
from vectorstore.remote.address import ServiceAddress, read_address
from vectorstore.remote.messages import BATCH, Hello, Reply, Request, from_body, send, to_body
from vectorstore.remote.server import HANDSHAKE_S
from vectorstore.settings import DEFAULT_MODEL, EmbeddingSettings
from vectorstore.store import EVERYTHING, Collection, Query, Vectors

_CHUNKS = TypeAdapter(list[Chunk])
_HITS = TypeAdapter(list[Hit])
_IDS = TypeAdapter(list[str])
_LANGUAGES = TypeAdapter(dict[str, int])


class ServiceGone(StoreUnavailable):
    """No service listens at this address any more."""


class RemoteStore:
    """The collections of the service at ``address``. Raises ServiceGone if it has ended.

    If the search process ends during a request, the request is sent once more to the next one. This is safe for all
    requests except ``drop``. Its searches go before the requests of others if ``urgent``.
    """

    def __init__(self, address: ServiceAddress, *, urgent: bool = False) -> None:
        self._address, self._urgent = address, urgent

    def create(self, spec: CollectionSpec) -> RemoteCollection:
        return RemoteCollection(Request(op="create", spec=spec), self._address, urgent=self._urgent)

    def open(self, name: str) -> RemoteCollection:
        return RemoteCollection(Request(op="open", name=name), self._address, urgent=self._urgent)

    def drop(self, name: str) -> None:
        self._call(Request(op="drop", name=name), attempts=1)

    def embed_query(self, text: str) -> tuple[Vectors, Vectors | None]:
        """Return the vector and the attention of a query. Raises EmbeddingModelError."""
        reply, body = self._call(Request(op="embed", text=text))
        vector, attention = np.split(from_body(body), [reply.dimension])
        return vector, attention if len(attention) else None

    def _call(self, request: Request, attempts: int = 2) -> tuple[Reply, bytes]:
        sessions = _Sessions(self._address)
        try:
            [reply] = sessions.stream(request, attempts=attempts)
        finally:
            sessions.close()
        return reply


class RemoteQueries:
    """Implements ``QueryEmbedder`` with the search process that serves ``folder``."""

    def __init__(self, folder: Path, settings: EmbeddingSettings) -> None:
        self._folder = folder
        self.languages = BUNDLE_LANGUAGES if settings.identity == DEFAULT_MODEL else None

    def embed_query(self, text: str) -> tuple[Vectors, Vectors | None]:
        """Return the vector and the attention of a query. Raises StoreUnavailable, EmbeddingModelError."""
        address = read_address(self._folder)
        if address is None:
            raise StoreUnavailable(f"No service embeds queries for {str(self._folder)!r} any more. Start it again.")
        return RemoteStore(address).embed_query(text)


class RemoteCollection(Collection):
    """A collection that the search process has open. Threads that use it in parallel have a connection each.

    ``request`` opens it.
    """

    def __init__(self, request: Request, address: ServiceAddress, *, urgent: bool = False) -> None:
        self._request = request
        self._opened: CollectionSpec | None = None
        self._sessions = _Sessions(address, self._open, urgent=urgent)
        self._sessions.connect()

    @property
    def spec(self) -> CollectionSpec:
        """The specification it was created with."""
        assert self._opened
        return self._opened

    @property
    def closed(self) -> bool:
        """Whether the collection was closed in this process, the service has ended, or the collection was deleted."""
        return self._sessions.closed

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        validate_vectors(self.spec, chunks, vectors)
        for start in range(0, len(chunks), BATCH):
            request = Request(op="upsert", chunks=tuple(chunks[start : start + BATCH]))
            self._call(request, to_body([vectors[start : start + BATCH]]))

    def delete(self, where: ChunkFilter) -> None:
        self._call(Request(op="delete", where=where))

    def search(self, mode: SearchMode, query: Query, limit: int, where: ChunkFilter = EVERYTHING) -> list[Hit]:
        if query.vector is not None:
            validate_query(self.spec, mode, query.vector)
        dimension = 0 if query.vector is None else self.spec.dimension
        request = Request(op="search", mode=mode, text=query.text, dimension=dimension, limit=limit, where=where)
        return _HITS.validate_json(self._call(request, to_body([query.vector, query.attention])))

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        for _, body in self._sessions.stream(Request(op="scan", where=where)):
            yield from _CHUNKS.validate_json(body)

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        return Counts.model_validate_json(self._call(Request(op="count", where=where)))

    def languages(self, *, exact: bool = True) -> dict[str, int]:
        return _LANGUAGES.validate_json(self._call(Request(op="languages", exact=exact)))

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for start in range(0, len(ids), BATCH):
            request = Request(op="vectors", ids=tuple(ids[start : start + BATCH]))
            for reply, body in self._sessions.stream(request):
                rows = from_body(body).reshape(len(reply.ids), self.spec.dimension)
                found.update(zip(reply.ids, np.array(rows), strict=True))  # a copy that may be changed
        return found

    def missing(self, ids: Sequence[str]) -> list[str]:
        return _IDS.validate_json(self._call(Request(op="missing", ids=tuple(ids))))

    def close(self) -> None:
        self._sessions.close()

    def _call(self, request: Request, body: bytes = b"") -> bytes:
        [(_, result)] = self._sessions.stream(request, body)
        return result

    def _open(self, session: _Session) -> None:
        """Open the collection in a new connection. Raises CollectionClosed if it is not the one opened first."""
        try:
            [(_, spec)] = session.stream(self._request)
            found = CollectionSpec.model_validate_json(spec)
        except CollectionNotFound:
            if self._opened is None:
                raise
            raise CollectionClosed(f"Collection {self.spec.name!r} is closed: it was deleted.") from None
        if found != (self._opened or found):
            raise CollectionClosed(f"Collection {self.spec.name!r} was deleted and created again.")
        self._opened, self._request = found, Request(op="open", name=found.name)


class _Broken(StoreUnavailable):
    """The connection ended during a request."""

    def __init__(self, pid: int) -> None:
        super().__init__(
            f"The search process of the Candor service (process {pid}) ended during this request. Stored data is kept. "
            "Try again. If it ends again, the machine may be out of memory; see the log of the service."
        )


class _Sessions:
    """Connections to the search process, which threads reuse. ``prepare`` is called with each new one."""

    def __init__(
        self, address: ServiceAddress, prepare: Callable[[_Session], None] = lambda _: None, *, urgent: bool = False
    ) -> None:
        self._address, self._prepare, self._urgent = address, prepare, urgent
        self._lock = threading.Lock()
        self._idle: list[_Session] = []
        self.closed = False

    def stream(self, request: Request, body: bytes = b"", attempts: int = 2) -> Iterator[tuple[Reply, bytes]]:
        """Yield the replies to a request. Raises the exception of the search process.

        If the connection or the collection was closed before the first reply, the request is sent again over a new
        connection. The next search process accepts it once it has started.
        """
        for remaining in reversed(range(attempts)):
            replied = False
            try:
                with self._session() as session:
                    for reply in session.stream(request, body):
                        replied = True
                        yield reply
                return
            except (_Broken, CollectionClosed) as error:
                self._close_idle()  # the others are no better
                if remaining and not replied and not self.closed:
                    continue
                if isinstance(error, CollectionClosed):
                    self.close()
                raise
            except ServiceGone:
                self.close()
                raise

    def connect(self) -> None:
        """Open the first connection."""
        self._take_back(self._connect())

    def close(self) -> None:
        """Close the connections, those in use after their requests. May be called again."""
        self.closed = True
        self._close_idle()

    @contextmanager
    def _session(self) -> Iterator[_Session]:
        """Reserve a connection for this thread until the end of the block."""
        with self._lock:
            if self.closed:
                raise CollectionClosed("The collection is closed.")
            session = self._idle.pop() if self._idle else None
        session = session or self._connect()
        try:
            yield session
        finally:
            self._take_back(session)

    def _connect(self) -> _Session:
        try:
            return self._connect_once()
        except _Broken:
            return self._connect_once()

    def _connect_once(self) -> _Session:
        session = _Session(self._address, urgent=self._urgent)
        try:
            self._prepare(session)
        except BaseException:
            session.close()
            raise
        return session

    def _take_back(self, session: _Session) -> None:
        with self._lock:
            if keep := session.between_requests and not self.closed:
                self._idle.append(session)
        if not keep:
            session.close()

    def _close_idle(self) -> None:
        with self._lock:
            sessions, self._idle = self._idle, []
        for session in sessions:
            session.close()


class _Session:
    """One connection to the search process. Belongs to one thread at a time. Raises ServiceGone, _Broken."""

    def __init__(self, address: ServiceAddress, *, urgent: bool) -> None:
        self._pid = address.pid
        self.between_requests = False
        self._connection = _connect(address)
        try:
            self._greet(address, Hello(secret=address.secret, urgent=urgent))
        except BaseException:
            self.close()
            raise

    def stream(self, request: Request, body: bytes = b"") -> Iterator[tuple[Reply, bytes]]:
        """Yield the replies to a request. Raises the exception of the search process."""
        self.between_requests = False
        with self._broken():
            send(self._connection, request, body)
        while not self.between_requests:
            with self._broken():
                header, result = receive(self._connection)
            reply = Reply.model_validate_json(header)
            self.between_requests = not reply.more
            if reply.failure:
                raise reply.failure.to_exception()
            yield reply, result

    def close(self) -> None:
        """Close the connection. May be called again."""
        self._connection.close()

    def _greet(self, address: ServiceAddress, hello: Hello) -> None:
        with self._broken():
            send(self._connection, hello)
            if not self._connection.poll(HANDSHAKE_S):
                raise StoreUnavailable(
                    f"The Candor service (process {address.pid}), which has the collections open, did not respond "
                    f"within {HANDSHAKE_S:.0f} s. Try again when it is less busy, or end it."
                )
            header, _ = receive(self._connection)
        if failure := Reply.model_validate_json(header).failure:
            raise failure.to_exception()
        self.between_requests = True

    @contextmanager
    def _broken(self) -> Iterator[None]:
        """Raise _Broken if the connection ends in the block."""
        try:
            yield
        except (OSError, EOFError) as error:
            raise _Broken(self._pid) from error


def _connect(address: ServiceAddress) -> Connection:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.settimeout(HANDSHAKE_S)
            client.connect(str(address.socket))
        except OSError as error:
            raise ServiceGone(
                f"The Candor service (process {address.pid}) ended while this process used its collections. Stored "
                "data is kept."
            ).with_command("Run the command again. It does not need the service.") from error
        client.settimeout(None)
        return Connection(client.detach())

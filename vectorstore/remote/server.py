"""Serves a store and embeds queries for other processes of the same user. ``process.py`` runs it in the search process.

Each connection has its own thread and uses one collection. It ends when its client ends, even if the client is killed.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from hmac import compare_digest
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Self

import numpy as np
from pydantic import ValidationError
from pydantic_core import to_json

from base.rpc import keeps_type, receive, to_failure
from vectorstore.embedding.embedder import QueryEmbedder
from vectorstore.errors import StoreUnavailable
from vectorstore.models import CollectionSpec
from vectorstore.qdrant_schema import require_same_spec
from vectorstore.remote.address import ServiceAddress
from vectorstore.remote.messages import BATCH, PROTOCOL, Hello, Reply, Request, from_body, send, to_body
from vectorstore.retrieval import Retriever
from vectorstore.store import Collection, Query, VectorStore, batches, require_spec

log = logging.getLogger(__name__)

HANDSHAKE_S = 30.0
_PARALLEL = min(4, max(2, (os.cpu_count() or 1) // 2))  # more threads would compete for the interpreter lock
_WAIT_S = 0.5  # a request that is not urgent waits at most this long for urgent ones

Result = tuple[Reply, bytes]


class Turns:
    """Lets urgent requests go first, and limits how many others are executed at once."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(_PARALLEL)
        self._changed = threading.Condition()
        self._urgent = 0

    @contextmanager
    def urgent(self) -> Iterator[None]:
        """Execute an urgent request in the block."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    @contextmanager
    def other(self) -> Iterator[None]:
        """Execute another request in the block, after waiting at most ``_WAIT_S`` until no urgent one is running."""
        with self._slots:
            with self._changed:
                self._changed.wait_for(lambda: not self._urgent, _WAIT_S)
            yield

    def _count(self, change: int) -> None:
        with self._changed:
            self._urgent += change
            self._changed.notify_all()


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


class StoreServer:
    """A context manager that serves ``store`` to the clients of ``listener``, which must know the address.

    ``load_embedder`` returns the model that embeds queries.
    """

    def __init__(
        self,
        store: SharedStore,
        load_embedder: Callable[[], QueryEmbedder],
        listener: socket.socket,
        address: ServiceAddress,
    ) -> None:
        self.store, self.load_embedder, self.turns = store, load_embedder, Turns()
        self._listener, self.address = listener, address
        self._lock = threading.Lock()
        self._clients: dict[socket.socket, threading.Thread] = {}

    def __enter__(self) -> Self:
        self._ended, self._end = Pipe(duplex=False)
        self._acceptor = threading.Thread(target=self._accept, name="store-server", daemon=True)
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections. Requests in the engine are completed first, but their clients get an error."""
        self._end.close()
        self._acceptor.join()
        self._ended.close()
        with self._lock:
            clients = dict(self._clients)
        for client, thread in clients.items():
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            thread.join()

    def _accept(self) -> None:
        while self._ended not in wait([self._listener, self._ended]):
            client, _ = self._listener.accept()
            thread = threading.Thread(target=self._serve, args=(client,), name="store-client", daemon=True)
            with self._lock:
                self._clients[client] = thread
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        """Serve one client until either side ends the connection."""
        try:
            with client, Connection(os.dup(client.fileno())) as connection, suppress(OSError, EOFError):
                if hello := self._greet(connection):
                    _Conversation(self, connection, urgent=hello.urgent).run()
        finally:
            with self._lock:
                del self._clients[client]

    def _greet(self, connection: Connection) -> Hello | None:
        """Return the greeting, or None if the client lacks the secret or uses another version of the protocol."""
        if not connection.poll(HANDSHAKE_S):
            return None
        try:
            hello = Hello.model_validate_json(receive(connection)[0])
        except ValidationError:
            return None
        if not compare_digest(hello.secret, self.address.secret):
            return None
        if hello.protocol != PROTOCOL:
            other = StoreUnavailable(f"The Candor service (process {self.address.pid}) runs another version of Candor.")
            send(connection, Reply(failure=to_failure(other.with_command("Restart the service."))))
            return None
        send(connection, Reply())
        return hello


class _Conversation:
    """Answers the requests of one connection, one after the other."""

    def __init__(self, server: StoreServer, connection: Connection, *, urgent: bool) -> None:
        self._server, self._connection, self._urgent = server, connection, urgent
        self._collection: Collection | None = None

    def run(self) -> None:
        """Answer requests until the connection ends. Raises OSError, EOFError when the client has ended."""
        while True:
            header, body = receive(self._connection)
            request = Request.model_validate_json(header)
            results = self._execute(request, body)
            while result := self._next(results, self._turn(request)):
                try:
                    send(self._connection, *result)
                except StoreUnavailable as error:  # the message is too large
                    send(self._connection, Reply(failure=to_failure(error)))
                    break

    def _turn(self, request: Request) -> AbstractContextManager[None]:
        """Return the turn in which to compute the next result of a request."""
        if not self._urgent and request.op not in ("create", "open", "drop"):
            return self._server.turns.other()
        return self._server.turns.urgent() if self._urgent and request.op == "search" else nullcontext()

    def _next(self, results: Iterator[Result], turn: AbstractContextManager[None]) -> Result | None:
        """Return the next result in its turn. Converts an exception to a failure, which the client raises."""
        try:
            with turn:
                return next(results, None)
        except Exception as error:  # noqa: BLE001
            return Reply(failure=to_failure(error if keeps_type(error) else self._unexpected(error))), b""

    def _unexpected(self, error: Exception) -> StoreUnavailable:
        log.error("A request to the vector store failed", exc_info=error)
        return StoreUnavailable(
            f"The Candor service (process {self._server.address.pid}) failed unexpectedly: {error!r}. Its log has the "
            "details."
        )

    def _execute(self, request: Request, body: bytes) -> Iterator[Result]:
        store, load_embedder = self._server.store, self._server.load_embedder
        match request.op:
            case "create" | "open":
                self._collection = store.create(request.spec) if request.spec else store.open(request.name)
                yield _json(self._collection.spec)
            case "drop":
                store.drop(request.name)
                yield _json(None)
            case "embed":
                vector, attention = load_embedder().embed_query(request.text)
                yield Reply(dimension=len(vector)), to_body([vector, attention])
            case _ if self._collection is None:
                raise ValueError("no collection is open")
            case _ if request.embeds:
                retriever = Retriever(self._collection, load_embedder())
                yield _json(retriever.search([request.text], request.limit, request.where, request.mode))
            case _:
                yield from _use(self._collection, request, body)


def _use(collection: Collection, request: Request, body: bytes) -> Iterator[Result]:
    match request.op:
        case "upsert":
            collection.upsert(request.chunks, from_body(body).reshape(len(request.chunks), -1))
            yield _json(None)
        case "delete":
            collection.delete(request.where)
            yield _json(None)
        case "search":
            yield _json(collection.search(request.mode, _query(request, body), request.limit, request.where))
        case "scan":
            for batch in batches(collection.scan(request.where), BATCH):
                yield _json(batch, more=True)
            yield _json([])
        case "count":
            yield _json(collection.count(request.where))
        case "languages":
            yield _json(collection.languages(exact=request.exact))
        case "vectors":
            found = collection.vectors(request.ids)
            yield Reply(ids=tuple(found)), to_body(found.values())
        case "missing":
            yield _json(collection.missing(request.ids))


def _query(request: Request, body: bytes) -> Query:
    vector, attention = np.split(from_body(body), [request.dimension])
    return Query(request.text, vector if len(vector) else None, attention if len(attention) else None)


def _json(value: Any, *, more: bool = False) -> Result:
    return Reply(more=more), to_json(value)

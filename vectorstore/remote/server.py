"""Serves a store to other processes of the same user.

The server listens on a Unix domain socket in a private temporary folder. No other user and no other machine can
connect, no port has to be chosen, and small messages are not delayed as by TCP. The socket is not in the data folder,
because its path could exceed the limit of about 100 bytes. A client must also send a secret, which only the user can
read.

Each connection has its own thread and opens one collection. It ends when its client ends, even if the client is killed.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from hmac import compare_digest
from itertools import islice
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, Self, assert_never

from pydantic import ValidationError
from pydantic_core import to_json

from vectorstore.errors import StoreUnavailable
from vectorstore.remote.address import ServiceAddress, remove_address, write_address
from vectorstore.remote.messages import (
    BATCH,
    PROTOCOL,
    REQUEST,
    CollectionRequest,
    Count,
    CountLanguages,
    Create,
    Delete,
    Drop,
    Failure,
    Find,
    FindMissing,
    Hello,
    ListCollections,
    Open,
    ReadVectors,
    Reply,
    Scan,
    Search,
    Upsert,
    receive,
    send,
    to_array,
    to_body,
    to_failure,
)
from vectorstore.store import Collection, VectorStore

log = logging.getLogger(__name__)

HANDSHAKE_S = 30.0
_PARALLEL = 4  # requests executed at once; more threads would slow down the service through the interpreter lock

Result = tuple[Reply, bytes]


class StoreServer:
    """A context manager that serves ``store`` and writes its address into ``folder``.

    ``give_way`` is called before each request. It may wait for more urgent work of this process.
    """

    def __init__(self, store: VectorStore, folder: Path, give_way: Callable[[], None] = lambda: None) -> None:
        self._store, self._folder, self._give_way = store, folder, give_way
        self._slots = threading.BoundedSemaphore(_PARALLEL)
        self._lock = threading.Lock()
        self._clients: dict[socket.socket, threading.Thread] = {}

    def __enter__(self) -> Self:
        path = Path(tempfile.mkdtemp(prefix="candor-")) / "store"
        self._address = ServiceAddress(pid=os.getpid(), socket=path, secret=secrets.token_hex(32))
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._listener.bind(str(path))
            self._listener.listen(128)
            write_address(self._folder, self._address)
        except OSError as error:
            self._listener.close()
            remove_address(self._folder, self._address)
            raise StoreUnavailable(
                f"This process cannot serve the collections in {str(self._folder)!r} to commands: "
                f"{error.strerror or error} ({str(path)!r}). Set TMPDIR to a folder with a short path, and allow "
                "writing to both folders."
            ) from error
        self._ended, self._end = Pipe(duplex=False)
        self._acceptor = threading.Thread(target=self._accept, name="store-server", daemon=True)
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections. Requests in the engine are completed first, but their clients get an error."""
        self._end.close()
        self._acceptor.join()
        self._ended.close()
        self._listener.close()
        remove_address(self._folder, self._address)
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
                if self._greet(connection):
                    _Conversation(self._store, connection, self._step).run()
        finally:
            with self._lock:
                del self._clients[client]

    def _greet(self, connection: Connection) -> bool:
        """Return whether the client sent the secret and uses the same version of the protocol."""
        if not connection.poll(HANDSHAKE_S):
            return False
        try:
            hello = Hello.model_validate_json(receive(connection)[0])
        except ValidationError:
            return False
        if not compare_digest(hello.secret, self._address.secret):
            return False
        if hello.protocol != PROTOCOL:
            other = StoreUnavailable(f"The Candor service (process {os.getpid()}) runs another version of Candor.")
            send(connection, Reply(failure=to_failure(other.with_command("Restart the service."))))
            return False
        send(connection, Reply())
        return True

    def _step(self, results: Iterator[Result]) -> Result | None:
        """Compute the next result after any more urgent work."""
        self._give_way()
        with self._slots:
            return next(results, None)


class _Conversation:
    """Answers the requests of one connection, one after the other."""

    def __init__(
        self, store: VectorStore, connection: Connection, step: Callable[[Iterator[Result]], Result | None]
    ) -> None:
        self._store, self._connection, self._step = store, connection, step
        self._opened = ExitStack()
        self._collection: Collection | None = None

    def run(self) -> None:
        """Answer requests until the connection ends. Raises OSError, EOFError when the client has ended."""
        with self._opened:
            while True:
                self._answer(*receive(self._connection))

    def _answer(self, header: bytes, body: bytes) -> None:
        results = self._execute(header, body)
        while result := self._next(results):
            try:
                send(self._connection, *result)
            except StoreUnavailable as error:  # the message is too large
                send(self._connection, Reply(failure=to_failure(error)))
                return

    def _next(self, results: Iterator[Result]) -> Result | None:
        """Return the next result. Converts an exception to a failure, which the client raises."""
        try:
            return self._step(results)
        except Exception as error:  # noqa: BLE001
            return Reply(failure=to_failure(error) or _unexpected(error)), b""

    def _execute(self, header: bytes, body: bytes) -> Iterator[Result]:
        request = REQUEST.validate_json(header)
        match request:
            case Create():
                yield self._open(lambda: self._store.create(request.spec))
            case Open():
                yield self._open(lambda: self._store.open(request.name))
            case Find():
                yield _json(self._store.find(request.name))
            case ListCollections():
                yield _json(self._store.list())
            case Drop():
                self._store.drop(request.name)
                yield _json(None)
            case _:
                if self._collection is None:
                    raise ValueError("no collection is open")
                yield from _use(self._collection, request, body)

    def _open(self, open_collection: Callable[[], Collection]) -> Result:
        self._collection = self._opened.enter_context(open_collection())
        return _json(self._collection.spec)


def _use(collection: Collection, request: CollectionRequest, body: bytes) -> Iterator[Result]:
    match request:
        case Upsert():
            collection.upsert(request.chunks, to_array(body, request.shape))
            yield _json(None)
        case Delete():
            collection.delete(request.where)
            yield _json(None)
        case Search():
            vector = None if request.shape is None else to_array(body, request.shape)
            yield _json(
                collection.search(
                    request.mode, text=request.text, vector=vector, limit=request.limit, where=request.where
                )
            )
        case Scan():
            chunks = iter(collection.scan(request.where))
            while batch := list(islice(chunks, BATCH)):
                yield _json(batch, more=True)
            yield _json([])
        case Count():
            yield _json(collection.count(request.where))
        case CountLanguages():
            yield _json(collection.languages())
        case ReadVectors():
            found = collection.vectors(request.ids)
            yield Reply(ids=tuple(found)), b"".join(map(to_body, found.values()))
        case FindMissing():
            yield _json(collection.missing(request.ids))
        case _:
            assert_never(request)


def _json(value: Any, *, more: bool = False) -> Result:
    return Reply(more=more), to_json(value)


def _unexpected(error: Exception) -> Failure:
    log.error("A request to the vector store failed", exc_info=error)
    return Failure(
        kind=StoreUnavailable.__name__,
        message=f"The Candor service (process {os.getpid()}) failed unexpectedly: {error!r}. Its log has the details.",
    )

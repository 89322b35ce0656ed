"""The search process of a service: it has the embedded collections open, and embeds queries.

Python threads of one process share one interpreter lock. In a process of its own, a search does not wait for the
service, which handles the events of runs. docs/concurrency.md has the measurements.
"""

import logging
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import Self

from base.process import ChildProcess
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import CachedEmbedder, Embedder, make_embedder
from vectorstore.errors import StoreUnavailable
from vectorstore.remote.address import FILE, ServiceAddress, listen, new_address, remove_address
from vectorstore.remote.server import SharedStore, StoreServer
from vectorstore.settings import EmbeddingSettings

log = logging.getLogger(__name__)

_RETRY_S = 1.0  # before a process that ended before it was ready is started again
_CHECK_S = 5.0  # between looks at the files
_EXIT_TIMEOUT_S = 10.0  # flushing collections takes less than a second, unless the disk is very busy


class SearchProcess:
    """Runs the search process of ``folder`` until the end of the block, and starts another one when it ends.

    This process opens the socket and passes it to each search process. Requests wait while one starts.
    """

    _TARGET = f"{__name__}:main"

    def __init__(self, folder: Path, embedding: EmbeddingSettings) -> None:
        self._folder, self._embedding = folder, embedding
        self.address = new_address()
        self._lock = threading.Lock()  # held while a process is started, or this one stops
        self._closing = threading.Event()
        self.failure = ""
        """How the last process ended if no other one has become ready since. Empty otherwise."""

    def __enter__(self) -> Self:
        """Start the process without waiting until it is ready. Raises StoreUnavailable."""
        self._listener = listen(self._folder, self.address)
        self._process = self._start()
        self._watcher = threading.Thread(target=self._watch, name="search-process", daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the collections and end the process. Requests in the engine are completed first."""
        with self._lock:
            self._closing.set()
            process = self._process
        remove_address(self._folder, self.address)
        with suppress(OSError):
            process.connections[0].send(None)
        process.wait(_EXIT_TIMEOUT_S)
        self._watcher.join()
        self._listener.close()

    def use(self, embedding: EmbeddingSettings) -> None:
        """Embed queries by another model, in a new process."""
        self._embedding = embedding
        self._process.kill()

    @property
    def pid(self) -> int:
        """The id of the current process."""
        return self._process.pid

    def _start(self) -> ChildProcess:
        process = ChildProcess(self._TARGET, arguments=[str(self._folder), self._embedding.model_dump_json()])
        [connection] = process.connections
        with suppress(OSError):  # it has ended already, which the watcher finds out
            connection.send(self.address.model_dump_json())
            send_handle(connection, self._listener.fileno(), process.pid)
        return process

    def _watch(self) -> None:
        """Start another process whenever the current one ends, until the end of the block."""
        while True:
            ready = self._wait_until_ended()
            process = self._process
            process.wait(_EXIT_TIMEOUT_S)
            ended = f"The search process {process.pid} ended ({process.exit_description})."
            if not self._closing.is_set():
                self.failure = ended
                log.error("%s Starting another one.", ended)
                self._closing.wait(0 if ready else _RETRY_S)
            with self._lock:
                process.close()
                if self._closing.is_set():
                    return
                try:
                    self._process = self._start()
                except OSError as error:  # it is tried again
                    log.error("No search process can be started: %s", error)

    def _wait_until_ended(self) -> bool:
        """Return whether the current process became ready."""
        [connection] = self._process.connections
        ready = False
        with suppress(EOFError, OSError):
            while True:
                if connection.poll(_CHECK_S):
                    connection.recv()
                    ready, self.failure = True, ""
                elif not self._reachable() and not self._closing.is_set():
                    self._listen_again()
        return ready

    def _reachable(self) -> bool:
        """Return whether the socket and the file with its address exist. Cleaners of /tmp may delete the socket."""
        return self.address.socket.exists() and (self._folder / FILE).exists()

    def _listen_again(self) -> None:
        """Open the socket again, and pass it to the next process."""
        self._listener.close()
        try:
            self._listener = listen(self._folder, self.address)
        except StoreUnavailable as error:  # it is tried again
            log.error("%s", error)
        else:
            self._process.kill()


def main(connection: Connection, folder: str, embedding: str) -> None:
    """Serve the collections of the folder until the service says so, or ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may be sent to the whole service; this process ends with it
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    address = ServiceAddress.model_validate_json(connection.recv())
    listener = socket.socket(fileno=recv_handle(connection))
    model = ThreadPoolExecutor(1).submit(_load_model, EmbeddingSettings.model_validate_json(embedding))
    with (
        SharedStore(EdgeStore(Path(folder), serving=True)) as store,
        StoreServer(store, model.result, listener, address),
        suppress(EOFError, OSError),
    ):
        connection.send(None)  # ready
        connection.recv()


def _load_model(settings: EmbeddingSettings) -> Embedder:
    """Return the model that embeds queries. Loads the weights of a local model. An endpoint has none to load."""
    embedder = CachedEmbedder(make_embedder(settings))
    if settings.provider == "local":
        embedder.embed_query("")
    return embedder

"""Query embedding with the bundled model in its own process.

A server uses this to keep queries fast while its other threads are busy; docs/concurrency.md explains why.
"""

from __future__ import annotations

import logging
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from vectorstore.child_process import ChildProcess
from vectorstore.embedding.minilm_numpy import MiniLM
from vectorstore.errors import EmbeddingModelError
from vectorstore.store import Vectors

log = logging.getLogger(__name__)

_ATTEMPTS = 2
_EXIT_TIMEOUT_S = 5.0


class MiniLMProcess:
    """Embeds queries like ``MiniLM``. Threads may share it; it embeds one query at a time.

    The process starts at once and loads the model in the background. It is replaced when it ends unexpectedly, and
    ends with this process.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._process = self._start()

    def embed(self, text: str) -> Vectors:
        """Return the vector of one text, of length 1. Raises EmbeddingModelError when the process ends twice."""
        with self._lock:
            for _ in range(_ATTEMPTS):
                [connection] = self._process.connections
                try:
                    connection.send(text)
                    response: Vectors | TypeError = connection.recv()
                except (EOFError, OSError):
                    ended = self._close_ended()
                    log.error("%s Starting another one.", ended)
                    self._process = self._start()
                    continue
                if isinstance(response, TypeError):
                    raise response
                return response
        raise EmbeddingModelError(
            f"{ended} It was the second process to end over the same query. The machine may be out of memory; see the "
            "program's output."
        )

    def _start(self) -> ChildProcess:
        return ChildProcess("vectorstore.embedding.minilm_process:main", arguments=[str(self._folder)])

    def _close_ended(self) -> str:
        """Close the process, after its connection broke, and describe how it ended."""
        self._process.connections[0].close()
        description = self._process.wait(_EXIT_TIMEOUT_S)
        self._process.close()
        return f"The process {self._process.pid}, which embeds queries, ended ({description})."


def main(connection: Connection, folder: str) -> None:
    """Embed each text received over the connection, until its other end closes."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may be sent to the whole program; this process ends with it
        signal.signal(number, signal.SIG_IGN)
    model = MiniLM(Path(folder))
    model.embed("")  # load the weights before the first query
    with suppress(EOFError, OSError):
        while True:
            connection.send(_embed(model, connection.recv()))


def _embed(model: MiniLM, text: str) -> Vectors | TypeError:
    try:
        return model.embed(text)
    except TypeError as error:  # the tokenizer rejects the text; the caller raises the error
        return error

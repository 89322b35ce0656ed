"""The bundled model's queries, embedded in a process of their own.

NumPy lets go of Python's lock and takes it again some two hundred times a query. In a program whose threads want that
lock all the time, a query waits for it each time; in a process of its own it is computed while they go on.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from vectorstore.embedding.minilm_numpy import MiniLM
from vectorstore.errors import EmbeddingModelError
from vectorstore.store import Vectors

log = logging.getLogger(__name__)

_TRIES = 2
_END_S = 5.0
_COMMAND = """
import sys
sys.path[:] = sys.argv[3:]
from vectorstore.embedding.minilm_process import main
main(int(sys.argv[1]), sys.argv[2])
"""


class MiniLMProcess:
    """Embeds queries as ``MiniLM`` does. Safe to use from several threads, which take turns.

    The process is started at once, loads the model meanwhile, and ends with this one, however that ends. When it ends
    by itself, another one takes its place.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = threading.Lock()
        self._process, self._connection = self._started()

    def embed(self, text: str) -> Vectors:
        """The vector of one text, of length 1. Raises EmbeddingModelError if the process ends, twice."""
        with self._turn:
            for _ in range(_TRIES):
                try:
                    self._connection.send(text)
                    answer: Vectors | TypeError = self._connection.recv()
                except (EOFError, OSError):
                    ended = self._see_off()
                    log.error("%s Another one is started.", ended)
                    self._process, self._connection = self._started()
                    continue
                if isinstance(answer, TypeError):
                    raise answer
                return answer
        raise EmbeddingModelError(
            f"{ended} It was the second one to end over the same query. It may be that memory ran out: the program's "
            "output may tell more."
        )

    def _started(self) -> tuple[subprocess.Popen[bytes], Connection]:
        ours, theirs = Pipe()
        # A fresh interpreter: a copy of this one would keep all that it has loaded.
        process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, str(theirs.fileno()), str(self._folder), *sys.path],
            stdin=subprocess.DEVNULL,
            stdout=2,  # standard output is for what the program itself has to say
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # an interrupt from the keyboard is for the program to handle
        )
        theirs.close()
        return process, ours

    def _see_off(self) -> str:
        """How the process ended, in words."""
        self._connection.close()
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired:  # it only closed the connection, and is of no use any more
            self._process.kill()
            status = self._process.wait()
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"The process {self._process.pid}, which embeds queries, ended ({how})."


def main(connection: int, folder: str) -> None:
    """Embed what comes over the connection, until the process at its other end is gone."""
    for each in (signal.SIGINT, signal.SIGTERM):  # may be sent to all of a program: this ends when that has ended
        signal.signal(each, signal.SIG_IGN)
    asked, model = Connection(connection), MiniLM(Path(folder))
    model.embed("")  # reads the weights now, and not when somebody waits
    with suppress(EOFError, OSError):
        while True:
            asked.send(_embedded(model, asked.recv()))


def _embedded(model: MiniLM, text: str) -> Vectors | TypeError:
    try:
        return model.embed(text)
    except TypeError as error:  # no text that the tokenizer can take; for whoever asked, who raises it
        return error

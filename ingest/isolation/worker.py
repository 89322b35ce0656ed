"""What runs inside a worker process of ``isolation.py``: parses file after file, and answers what came of each.

Started as a fresh interpreter, so that neither the threads nor the ``__main__`` of the ingesting process come along.
A worker never outlives that process, even while native code of a parser hangs, and opens no network connection.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from ingest.errors import FileError, ParserCrashed, ParserOutOfMemory
from ingest.heartbeat import listener
from ingest.parser import ParsedDocument, Parser, load_parser

READY, STILL_WORKING = "ready", "still working"


def main(channel: int, lifeline: int) -> None:
    """Serve the process that holds the other ends of both pipes, until it closes them."""
    _end_with(lifeline)
    confine()
    with Connection(channel) as connection:
        name, options = connection.recv()
        parser = load_parser(name, options)
        listener.set(lambda: connection.send(STILL_WORKING))
        connection.send(READY)
        while True:
            try:
                path = connection.recv()
            except EOFError:
                return
            connection.send(_outcome(parser, path))


def _end_with(lifeline: int) -> None:
    """Have the kernel end this process when the other end of the pipe closes, whatever code is running then.

    A closing pipe raises SIGIO, whose default action ends the process: no thread of ours has to get its turn.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    if select.select([lifeline], [], [], 0)[0]:
        sys.exit("The ingesting process ended before its worker had started.")


def confine() -> None:
    """Leave no core files, use no network, and be the first to go when memory runs out."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(_refuse_connections)
    score = Path("/proc/self/oom_score_adj")  # Linux: when memory runs out, this process goes first
    if score.exists():
        score.write_text("1000")


def _refuse_connections(event: str, _: object) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        raise PermissionError("A parser tried to use the network, which parsers must not.")


def _outcome(parser: Parser, path: Path) -> ParsedDocument | FileError:
    try:
        return parser.parse(path)
    except FileError as error:
        return error.with_traceback(None)
    except MemoryError:
        return ParserOutOfMemory(f"{path} needs more memory than there is. Split it.")
    except BaseException as error:  # noqa: BLE001  # this process is the boundary that keeps a parser's defects in
        return ParserCrashed(
            f"{path} made the parser {parser.name} fail at {_place(error)}: {type(error).__name__}: {error}. "
            "Save it anew, or choose another parser."
        )


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"

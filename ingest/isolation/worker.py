"""The worker process of ``isolated_parser.py``: parses one file after the other and returns each outcome."""

from __future__ import annotations

import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from ingest.document import ParsedDocument
from ingest.errors import FileError, ParserCrashed, ParserOutOfMemory
from ingest.heartbeat import listener
from ingest.isolation.confinement import confine_process
from ingest.parser import Parser, load_parser

READY, STILL_WORKING = "ready", "still working"


def main(connection: Connection) -> None:
    """Parse each path received over the connection, until its other end closes."""
    confine_process()
    with connection:
        name, options = connection.recv()
        parser = load_parser(name, options)
        listener.set(lambda: connection.send(STILL_WORKING))
        connection.send(READY)
        while True:
            try:
                path = connection.recv()
            except EOFError:
                return
            connection.send(_parse(parser, path))


def _parse(parser: Parser, path: Path) -> ParsedDocument | FileError:
    try:
        return parser.parse(path)
    except FileError as error:
        return error.with_traceback(None)
    except MemoryError:
        return ParserOutOfMemory(f"{path} needs more memory than is available. Split it.")
    except BaseException as error:  # noqa: BLE001  # a defect of a parser must not end the worker
        return ParserCrashed(
            f"{path} made the parser {parser.name} fail at {_location(error)}: {type(error).__name__}: {error}. "
            "Save the file again, or choose another parser."
        )


def _location(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"

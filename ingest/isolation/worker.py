"""The worker process of ``worker_pool.py``: executes one request after the other and returns each outcome."""

import pkgutil
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ingest.chunking.chunker import Chunker
from ingest.containers.unpack import Member, expand
from ingest.document import ParsedDocument
from ingest.errors import FileError, ParserCrashed, ParserOutOfMemory, TextTooLong, TooManyPassages
from ingest.heartbeat import listener
from ingest.isolation.confinement import confine_process
from ingest.isolation.requests import (
    READY,
    STILL_WORKING,
    CallRequest,
    ChunkRequest,
    CountTokens,
    ParseRequest,
    Request,
    UnpackRequest,
)
from ingest.parser import Parser, load_parser
from vectorstore.models import Chunk

_PARTS_PER_MB = 8_000  # a paragraph takes as much memory as 750 characters


def main(connection: Connection) -> None:
    """Execute each request received over the connection, until its other end closes."""
    confine_process()
    with connection:
        name, options = connection.recv()
        worker = _Worker(load_parser(name, options), connection)
        listener.set(lambda: connection.send(STILL_WORKING))
        connection.send(READY)
        while True:
            try:
                request = connection.recv()
            except EOFError:
                return
            connection.send(worker.outcome(request))


class _Worker:
    def __init__(self, parser: Parser, connection: Connection) -> None:
        self._parser, self._connection = parser, connection
        self._members: Iterator[Member] = iter(())

    def outcome(self, request: Request) -> Any:
        try:
            return self._execute(request)
        except FileError as error:
            return error.with_traceback(None)
        except MemoryError:
            return ParserOutOfMemory(f"{request.path} needs more memory than is available. Split it.")
        except BaseException as error:  # noqa: BLE001  # a defect of a parser must not end the worker
            return ParserCrashed(
                f"{request.path} made the parser {self._parser.name} fail at {_location(error)}: "
                f"{type(error).__name__}: {error}. Save the file again, or choose another parser."
            )

    def _execute(self, request: Request) -> Any:
        match request:
            case ParseRequest():
                return _within_limits(self._parser.parse(Path(request.path)), request)
            case ChunkRequest():
                chunker = Chunker(self._count_tokens, request.budget, request.overlap)
                return _within_passage_limit(chunker.chunk(request.parsed, request.source), request)
            case UnpackRequest():
                if request.first:
                    self._members = expand(Path(request.path), request.limits, request.folder)
                return next(self._members, None)
            case CallRequest():
                return pkgutil.resolve_name(request.function)(*request.arguments)

    def _count_tokens(self, texts: Sequence[str]) -> list[int]:
        self._connection.send(CountTokens(list(texts)))
        counts: list[int] = self._connection.recv()
        return counts


def _within_limits(parsed: ParsedDocument, request: ParseRequest) -> ParsedDocument:
    size, parts = len(parsed.text.encode("utf-8", "surrogatepass")) / 2**20, len(parsed.blocks) + len(parsed.pages)
    if size > request.max_text_mb:
        raise TextTooLong(
            f"{request.path} has {size:,.1f} MB of text; the limit is {request.max_text_mb} MB. Split it, or raise "
            "max_text_mb under [ingest] and retry the failed files."
        )
    if parts > (most := request.max_text_mb * _PARTS_PER_MB):
        raise TextTooLong(
            f"{request.path} has {parts:,} paragraphs, tables and pages; the limit is {most:,}. Split it, or raise "
            "max_text_mb under [ingest] and retry the failed files."
        )
    return parsed


def _within_passage_limit(chunks: list[Chunk], request: ChunkRequest) -> list[Chunk]:
    if len(chunks) > request.max_passages:
        raise TooManyPassages(
            f"{request.path} has {len(chunks):,} passages; the limit is {request.max_passages:,}. Split it, or raise "
            "max_passages under [ingest] and retry the failed files."
        )
    return chunks


def _location(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"

"""Implementations of the parser and the chunker that work in worker processes."""

import threading
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Self

from ingest.chunking.chunker import Chunker, Source
from ingest.document import ParsedDocument
from ingest.isolation.requests import ChunkRequest, ParseRequest
from ingest.isolation.worker_pool import WorkerPool
from ingest.parser import load_parser
from ingest.reader import ParserOptions
from ingest.settings import IngestSettings
from vectorstore.models import Chunk

_DEFAULT = IngestSettings()


class IsolatedParser:
    """A parser that works in up to ``workers`` processes. Any number of threads may call it.

    >>> with IsolatedParser("default", workers=2, timeout_s=120, memory_mb=2048) as parser:
    ...     document = parser.parse(Path("report.pdf"))
    """

    def __init__(
        self,
        parser_name: str,
        *,
        workers: int,
        timeout_s: float,
        memory_mb: int,
        options: ParserOptions | None = None,
        max_text_mb: int = _DEFAULT.max_text_mb,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Raises UnknownParser. Starts no process yet. See ``WorkerPool`` for ``cancelled``."""
        options = options or ParserOptions()
        self._parser = load_parser(parser_name, options)
        self.name = self._parser.name
        self.pool = WorkerPool(self.name, options, timeout_s=timeout_s, memory_mb=memory_mb, cancelled=cancelled)
        """The pool of worker processes, which also chunk and unpack. That work does not count towards ``workers``."""
        self._slots = threading.BoundedSemaphore(workers)
        self._max_text_mb = max_text_mb

    def parse(self, path: Path) -> ParsedDocument:
        """Parse the file in a worker process, after waiting for a free one.

        The time limit restarts whenever the parser reports progress (``still_working``).

        Raises what the parser raises, TextTooLong, and what ``WorkerPool.run`` raises.
        """
        with self._slots:
            parsed: ParsedDocument = self.pool.run(ParseRequest(str(path), self._max_text_mb))
        return parsed

    def version_of(self, path: PurePath, mime_type: str = "") -> str:
        """See ``Parser``."""
        return self._parser.version_of(path, mime_type)

    def close(self) -> None:
        """Kill all workers; a running ``parse`` raises ParserUnavailable. May be called again."""
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class IsolatedChunker(Chunker):
    """A chunker that works in a worker process. This process counts the tokens, because it has the model."""

    def __init__(self, chunker: Chunker, pool: WorkerPool, max_passages: int) -> None:
        super().__init__(chunker.count_tokens, chunker.budget, chunker.overlap)
        self._pool, self._max_passages = pool, max_passages

    def chunk(self, parsed: ParsedDocument, source: Source) -> list[Chunk]:
        """Return the document's chunks in order. Raises TooManyPassages, and what ``WorkerPool.run`` raises."""
        request = ChunkRequest(source.path, parsed, source, self.budget, self.overlap, self._max_passages)
        chunks: list[Chunk] = self._pool.run(request, self.count_tokens)
        return chunks

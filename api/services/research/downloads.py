"""Reads the pages that a run fetched, and parses and chunks the files that it downloaded, without indexing them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from base.tokens import estimate_tokens
from ingest.errors import FileError, IngestError
from ingest.settings import IngestSettings
from multi_agent.errors import ToolError
from multi_agent.values.sources import readable
from vectorstore.models import Chunk, WebPage

if TYPE_CHECKING:
    from base.web import Fetched
    from ingest.chunking.chunker import Source
    from ingest.isolation.worker_pool import WorkerPool
    from multi_agent.tool import PageText

_PASSAGE_TOKENS = 256
_PAGE_S = 30.0  # for a page; one of 5 MB takes 4 s
_KEPT = 16  # cached files, because a model reads a long file in several calls


class DownloadReader:
    """Implements ``multi_agent.tool.FileReader``. Works in separate processes, within the limits of ingests.

    One process reads all pages. No embedding model is needed, because tokens are estimated.
    """

    def __init__(self, settings: IngestSettings) -> None:
        self._settings = settings
        self._parse_kept = lru_cache(maxsize=_KEPT)(self._parse)

    def page(self, page: Fetched) -> PageText:
        """Return the text of a page. Raises ToolError if it cannot be read, or not within the limits."""
        from ingest.isolation.requests import CallRequest

        try:
            text: PageText | ToolError = self._pages.run(CallRequest(page.url, f"{__name__}:read_page", (page,)))
        except FileError as error:
            raise ToolError(f"{str(error).partition('. ')[0]}. Read another page.") from error
        except IngestError as error:
            raise ToolError(f"{page.url} cannot be read: {error}") from error
        if isinstance(text, ToolError):
            raise text
        return text

    @cached_property
    def _pages(self) -> WorkerPool:
        from ingest.isolation.worker_pool import WorkerPool
        from ingest.reader import ParserOptions

        return WorkerPool("default", ParserOptions(), timeout_s=_PAGE_S, memory_mb=self._settings.parse_memory_mb)

    def passages(self, path: Path, origin: WebPage) -> tuple[Chunk, ...]:
        """Return the passages of the file. Raises ToolError if it cannot be parsed."""
        version = hashlib.sha256(path.read_bytes()).hexdigest()
        return self._parse_kept(path, version, origin)

    def _parse(self, path: Path, version: str, origin: WebPage) -> tuple[Chunk, ...]:
        from ingest.chunking.chunker import Source

        identity = hashlib.sha256(f"{origin.url}\n{version}".encode()).hexdigest()[:32]
        source = Source(document_id=f"web-{identity}", path=origin.url, name=origin.url, version=version)
        try:
            chunks = self._chunks(path, source)
        except IngestError as error:
            raise ToolError(f"{origin.url} cannot be read: {str(error).replace(str(path), path.name)}") from error
        # Without metadata, because it lists pages with pictures, but the library cannot draw pages of downloads.
        return tuple(chunk.model_copy(update={"origin": origin, "metadata": {}}) for chunk in chunks)

    def _chunks(self, path: Path, source: Source) -> list[Chunk]:
        from ingest.chunking.chunker import Chunker
        from ingest.isolation.isolated_parser import IsolatedChunker, IsolatedParser
        from ingest.reader import ParserOptions

        settings = self._settings
        options = ParserOptions(ocr=settings.ocr, ocr_languages=settings.ocr_languages)
        with IsolatedParser(
            settings.parser, workers=1, timeout_s=settings.parse_timeout_s, memory_mb=settings.parse_memory_mb,
            options=options, max_text_mb=settings.max_text_mb,
        ) as parser:  # fmt: skip
            parsed = parser.parse(path)
            cleaned = parsed.model_copy(update={"text": _same_length(parsed.text)})
            chunker = IsolatedChunker(Chunker(_count_tokens, _PASSAGE_TOKENS), parser.pool, settings.max_passages)
            return chunker.chunk(cleaned, source)


def read_page(page: Fetched) -> PageText | ToolError:
    """Return the text of a page, or why it has none. Called in a worker process."""
    from multi_agent.toolbox import web

    try:
        return web.read_page(page)
    except ToolError as error:
        return error


def _count_tokens(texts: Sequence[str]) -> list[int]:
    return [estimate_tokens(text) for text in texts]


def _same_length(text: str) -> str:
    """Replace control characters in the text without changing its offsets."""
    cleaned = readable(text)
    return cleaned if len(cleaned) == len(text) else "".join(readable(character) for character in text)

"""Reads, parses and chunks files, in the read-ahead threads. Uses neither the ledger nor the store."""

from __future__ import annotations

import time

from ingest.chunking.chunker import Chunker, Source
from ingest.errors import FileError, ModelFailed
from ingest.ledger.records import Stage
from ingest.pipeline.chunks import chunk_document
from ingest.pipeline.copies import Copies
from ingest.pipeline.file import IngestFile
from ingest.pipeline.parse_file import parse_file, wrap_internal_errors
from ingest.pipeline.plan import IndexSettings


class FileReader:
    """Reads one file per call. Several threads may call it."""

    def __init__(self, current: IndexSettings, chunker: Chunker, max_file_mb: int, copies: Copies | None) -> None:
        self._current = current
        self._chunker = chunker
        self._max_file_mb = max_file_mb
        self._copies = copies

    def read(self, file: IngestFile) -> None:
        """Read the file, then parse and chunk it unless its content is indexed. Sets its ``error`` if that fails."""
        begun = time.time()
        try:
            with wrap_internal_errors(file):
                self._read(file)
        except FileError as error:
            file.error = error
            if isinstance(error, ModelFailed):
                file.stage = Stage.ASKING
        file.read_at = min(file.read_at, begun)

    def _read(self, file: IngestFile) -> None:
        previous, limit = file.previous, self._max_file_mb
        if self._copies:
            was_read = previous is not None and bool(previous.version)
            file.found = self._copies.take(file.found, known=was_read, max_file_mb=limit)
        is_known = previous and previous.chunks and not file.reread and self._current.is_current(previous)
        known_version = previous.version if previous and is_known else ""
        parse_file(file, self._current.parser, max_file_mb=limit, known_version=known_version)
        if file.parsed:
            file.parser = self._current.parser_version(file.found.document, file.parsed)
            with file.timed(Stage.CHUNKING):
                source = Source(
                    document_id=file.id, path=file.found.document, name=file.found.name, version=file.version
                )
                file.chunks = chunk_document(self._chunker, file.parsed, source, file.index_version)

    def release(self, file: IngestFile) -> None:
        """Delete the private copy of the file, and the extracted members of a container."""
        if file.members:
            file.members.close()
            file.members = None
        if self._copies:
            self._copies.drop(file.found)

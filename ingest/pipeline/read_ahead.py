"""Reads, parses and chunks files in threads, ahead of the embedding. Uses neither the ledger nor the store."""

import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Self

from ingest.chunking.chunker import Chunker, Source
from ingest.errors import FileError, ModelFailed, UnreadableFile
from ingest.ledger.records import Stage
from ingest.pipeline.boundary import Boundary
from ingest.pipeline.chunks import chunk_document
from ingest.pipeline.discovery import FoundFile
from ingest.pipeline.file import IngestFile
from ingest.pipeline.parse_file import (
    ATTEMPTS,
    changing,
    identity_of,
    parse_file,
    require_size,
    unreadable,
    wrap_internal_errors,
)
from ingest.pipeline.plan import IndexSettings


@dataclass(frozen=True)
class Copies:
    """Copies the files that are being ingested into the private ``folder``, if they are inside the boundary.

    Parsers and containers open files by path. The copy is made from the file descriptor that was checked, so nobody can
    replace the file with a link.
    """

    boundary: Boundary
    folder: Path

    def take(self, file: FoundFile, *, known: bool, max_file_mb: int) -> FoundFile:
        """Return the file with the path of its copy. Uploads and members of containers are returned without a copy.

        Raises FileError.
        """
        if file.container or self.boundary.is_upload(file.path):
            return file
        try:
            return file.model_copy(update={"path": self._copy(file, known, max_file_mb)})
        except OSError as error:
            raise unreadable(file, error) from error

    def drop(self, file: FoundFile) -> None:
        """Remove the copy of a file, if it has one."""
        if file.path.is_relative_to(self.folder):
            shutil.rmtree(file.path.parent, ignore_errors=True)

    def _copy(self, file: FoundFile, known: bool, max_file_mb: int) -> Path:
        copy = Path(tempfile.mkdtemp(dir=self.folder)) / file.path.name
        for _ in range(ATTEMPTS):
            with os.fdopen(self.boundary.open(file.path, known=known), "rb") as source:
                before = os.fstat(source.fileno())
                if not stat.S_ISREG(before.st_mode):
                    raise UnreadableFile(f"{file.document} cannot be read: it is not a regular file.")
                require_size(file, before.st_size, max_file_mb)
                with copy.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                if identity_of(os.fstat(source.fileno())) == identity_of(before):
                    os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
                    return copy
        raise changing(file)


class FileReader:
    """Reads one file per call. Several threads may call it."""

    def __init__(self, current: IndexSettings, chunker: Chunker, max_file_mb: int, copies: Copies | None) -> None:
        self._current, self._chunker, self._max_file_mb = current, chunker, max_file_mb
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


_LARGE = 2  # large files ahead, per thread
_FILES, _BYTES = 256, 2**20  # small files ahead; limits the memory that parsed documents take
_PARSED, _BLOCK = 2**26, 750  # bytes of parsed documents that wait, and of a block: small files can have long texts


class ReadAhead:
    """Files that ``threads`` threads read: two large files per thread, or up to 256 small ones.

    The threads pause while the parsed documents that nobody has taken yet are large.
    """

    def __init__(self, read: Callable[[IngestFile], None], threads: int) -> None:
        self._read = read
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="parse")
        self._least = threads * _LARGE
        self._sizes: dict[int, int] = {}  # of the files that were added and not returned yet
        self._done: SimpleQueue[tuple[IngestFile, Future[None]]] = SimpleQueue()
        self._taken = threading.Condition()
        self._parsed = 0
        self._closed = False

    def __bool__(self) -> bool:
        """Return whether there are files to wait for."""
        return bool(self._sizes)

    @property
    def has_room(self) -> bool:
        """Whether another file may be added."""
        return self._is_below(_FILES, _BYTES)

    @property
    def is_low(self) -> bool:
        """Whether more files should be added. Small files are added in batches: one transaction per batch."""
        return self._is_below(_FILES // 2, _BYTES // 2)

    def _is_below(self, files: int, size: int) -> bool:
        number = len(self._sizes)
        return number < self._least or (number < files and sum(self._sizes.values()) < size)

    def add(self, document: IngestFile) -> None:
        """Reserve room for the file."""
        self._sizes[id(document)] = _size(document.found.path)

    def start(self, documents: Sequence[IngestFile]) -> None:
        """Start to read the added files."""
        for document in documents:
            self._pool.submit(self._read_in_turn, document).add_done_callback(partial(self._put, document))

    def _read_in_turn(self, document: IngestFile) -> None:
        with self._taken:
            self._taken.wait_for(lambda: self._parsed <= _PARSED or self._closed)
        if not self._closed:
            self._read(document)

    def _put(self, document: IngestFile, future: Future[None]) -> None:
        with self._taken:
            self._parsed += _parsed_size(document)
        self._done.put((document, future))

    def wait(self) -> list[IngestFile]:
        """Wait until at least one file has been read, and return those that have. Raises what ``read`` raises."""
        finished = [self._done.get()]
        while not self._done.empty():
            finished.append(self._done.get())
        with self._taken:
            self._parsed -= sum(_parsed_size(document) for document, _ in finished)
            self._taken.notify_all()
        for document, future in finished:
            del self._sizes[id(document)]
            future.result()
        return [document for document, _ in finished]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._taken:
            self._closed = True
            self._taken.notify_all()
        self._pool.shutdown(cancel_futures=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # reading the file reports the error
        return 0


def _parsed_size(document: IngestFile) -> int:
    parsed = document.parsed
    return len(parsed.text) + _BLOCK * (len(parsed.blocks) + len(parsed.pages)) if parsed else 0

"""Reads files in threads, ahead of the embedding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Self

from ingest.pipeline.file import IngestFile

_LARGE = 2  # large files ahead, per thread
_FILES, _BYTES = 256, 2**20  # small files ahead; limits the memory that parsed documents take


class ReadAhead:
    """Files that ``threads`` threads read: two large files per thread, or up to 256 small ones."""

    def __init__(self, read: Callable[[IngestFile], None], threads: int) -> None:
        self._read = read
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="parse")
        self._least = threads * _LARGE
        self._sizes: dict[int, int] = {}  # of the files that were added and not returned yet
        self._done: SimpleQueue[tuple[IngestFile, Future[None]]] = SimpleQueue()

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
            self._pool.submit(self._read, document).add_done_callback(partial(self._put, document))

    def _put(self, document: IngestFile, future: Future[None]) -> None:
        self._done.put((document, future))

    def wait(self) -> list[IngestFile]:
        """Wait until at least one file has been read, and return those that have. Raises what ``read`` raises."""
        finished = [self._done.get()]
        while not self._done.empty():
            finished.append(self._done.get())
        for document, future in finished:
            del self._sizes[id(document)]
            future.result()
        return [document for document, _ in finished]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # reading the file reports the error
        return 0

"""Optimizes the shard of an embedded collection in another process, while the collection is searched and written.

The engine holds the interpreter lock while it optimizes: 20 s for 42,000 chunks. So a child process optimizes a copy,
which then replaces the shard:

    FOLDER/papers/shard.part/   the copy, until it is complete
    FOLDER/papers/shard.new/    the complete copy, until it has replaced FOLDER/papers/shard
    FOLDER/papers/shard.old/    the replaced shard, until it is deleted

The copy lacks what was written to the shard since. All of it is in the shard's write-ahead log, as long as the shard is
not flushed. The copy gets this log, and the engine replays it when it loads the copy.
"""

import errno
import os
import shutil
import signal
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Self

from base.process import ChildProcess
from vectorstore.edge.disk import disk_errors, write_through
from vectorstore.errors import StoreUnavailable

LOG = "wal"
_NICENESS = 5
_EXIT_TIMEOUT_S = 5.0
_BLOCK = 2**18


class OptimizedCopy:
    """A copy of a shard, made and optimized by a child process. All calls raise StoreUnavailable.

    At the end of the block, the process ends and an unused copy is deleted.
    """

    def __init__(self, shard: Path) -> None:
        self._shard = shard
        self._taken: frozenset[str] = frozenset()  # complete files of the log that the copy was given
        self._replayed: frozenset[str] = frozenset()
        _remove_unused(shard)
        self._child = ChildProcess(
            f"{__name__}:main", arguments=[str(shard)], nice=_NICENESS, capture_output=True
        )  # fmt: skip

    def copy(self) -> None:
        """Copy the shard. Nobody may write to it meanwhile, and nobody may flush it from now on."""
        self._call("copy")

    def optimize(self) -> None:
        """Optimize the copy."""
        self._call("optimize")

    def take_log(self) -> None:
        """Give the copy what it has not replayed of the shard's write-ahead log. Nobody may write meanwhile."""
        shutil.rmtree(_part(self._shard) / LOG)
        _copy_log(self._shard, self._replayed)
        write_through(_part(self._shard) / LOG)
        self._taken = _complete_files(self._shard)

    def replay(self) -> None:
        """Replay the log in the copy, so that loading it takes less time."""
        self._call("replay")
        self._replayed = self._taken

    def use(self) -> None:
        """Replace the shard, which must be closed, by the copy."""
        _part(self._shard).rename(_new(self._shard))
        _complete_replacement(self._shard)

    def kill(self) -> None:
        """End the child process. Another thread may use the copy and gets StoreUnavailable."""
        self._child.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close()
        _remove_unused(self._shard)

    def _call(self, step: str) -> None:
        connection = self._child.connections[0]
        try:
            connection.send(step)
            failure = connection.recv()
        except (EOFError, OSError):
            ended = self._child.wait(_EXIT_TIMEOUT_S)
            failure = _failure(self._shard, f"its process ended ({ended}). {self._child.last_output_line()}".strip())
        if failure:
            raise StoreUnavailable(failure)


def recover(shard: Path) -> None:
    """Complete a replacement that was interrupted, and delete what is not used."""
    _complete_replacement(shard)
    _remove_unused(shard)


def _complete_replacement(shard: Path) -> None:
    new, old = _new(shard), _old(shard)
    if new.exists():
        if shard.exists():
            shutil.rmtree(old, ignore_errors=True)
            shard.rename(old)
        new.rename(shard)


def main(connection: Connection, folder: str) -> None:
    """Run in the child process. Answer each step with the reason of a failure, or an empty text."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may be sent to the whole program; this process ends with it
        signal.signal(number, signal.SIG_IGN)
    shard = Path(folder)
    optimize = partial(_load_and_flush, optimize=True)
    steps: dict[str, Callable[[Path], None]] = {"copy": _copy, "optimize": optimize, "replay": _load_and_flush}
    while True:
        try:
            steps[connection.recv()](shard)
        except StoreUnavailable as error:
            connection.send(str(error))
        else:
            connection.send("")


def _copy(shard: Path) -> None:
    with disk_errors(_part(shard)):
        shutil.copytree(shard, _part(shard), copy_function=_copy_sparse, ignore=shutil.ignore_patterns(LOG))
        _copy_log(shard)


def _copy_log(shard: Path, without: frozenset[str] = frozenset()) -> None:
    """Copy the write-ahead log, except for a file that a thread of the engine prepares and renames meanwhile."""
    target = _part(shard) / LOG
    target.mkdir()
    for file in (shard / LOG).iterdir():
        if not file.name.startswith("tmp-") and file.name not in without:
            _copy_sparse(str(file), str(target / file.name))


def _complete_files(shard: Path) -> frozenset[str]:
    """Return the names of the files of the write-ahead log that the engine has closed."""
    return frozenset(file.name for file in (shard / LOG).glob("closed-*"))


def _load_and_flush(shard: Path, *, optimize: bool = False) -> None:
    """Load the copy and flush it. Loading replays its write-ahead log."""
    import qdrant_edge as qdrant

    part = _part(shard)
    with disk_errors(part):
        try:
            copy = qdrant.EdgeShard.load(str(part))
            if optimize:
                copy.optimize()
            copy.flush()
            copy.close()
        except Exception as error:
            if type(error) is not Exception:  # the engine's own errors
                raise
            raise StoreUnavailable(_failure(shard, str(error))) from error
        write_through(part)


def _copy_sparse(source: str, target: str) -> None:
    """Copy a file without its holes. The engine maps files of 32 MiB, and most of a small one is holes."""
    with open(source, "rb", buffering=0) as read, open(target, "wb", buffering=0) as written:
        size, end = os.fstat(read.fileno()).st_size, 0
        while (start := _next(read, end, os.SEEK_DATA, size)) < size:
            end = _next(read, start, os.SEEK_HOLE, size)
            read.seek(start)
            written.seek(start)
            while start < end:
                start += written.write(read.read(min(_BLOCK, end - start)))
        written.truncate(size)


def _next(file: IO[bytes], start: int, whence: int, size: int) -> int:
    """Return where the next data or the next hole begins, or ``size`` if there is none."""
    try:
        return file.seek(start, whence)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return size


def _remove_unused(shard: Path) -> None:
    """Delete an unused copy and a replaced shard."""
    for folder in (_part(shard), _old(shard)):
        if folder.exists():
            shutil.rmtree(folder)


def _failure(shard: Path, reason: str) -> str:
    return f"Could not optimize collection {shard.parent.name!r} in {str(shard.parent.parent)!r}: {reason}"


def _part(shard: Path) -> Path:
    return shard.with_name(f"{shard.name}.part")


def _new(shard: Path) -> Path:
    return shard.with_name(f"{shard.name}.new")


def _old(shard: Path) -> Path:
    return shard.with_name(f"{shard.name}.old")


FILE = "changes"
_POLL_S = 0.1


class ChangeCount:
    """The count in the folder of a collection. A killed process loses what it has added since ``save``."""

    def __init__(self, folder: Path, estimate: int) -> None:
        """Read the count. ``estimate`` is the count of a collection without the file."""
        self._file = folder / FILE
        self.value = estimate
        with disk_errors(self._file):
            if self._file.exists():
                content = self._file.read_text(encoding="utf-8")
                self.value = int(content) if content.isdecimal() else estimate

    def save(self) -> None:
        """Write the count."""
        with disk_errors(self._file):
            self._file.write_text(str(self.value), encoding="utf-8")


class BackgroundWork:
    """Runs ``work`` in a thread. If it raises an error, ``on_error`` gets it and ``wait`` raises it again."""

    def __init__(self, name: str, work: Callable[[], None], on_error: Callable[[Exception], None]) -> None:
        self._name, self._work, self._on_error = name, work, on_error
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    @property
    def running(self) -> bool:
        """Whether the thread is running."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread unless it is running."""
        with self._lock:
            if not self.running:
                self._error = None
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def wait(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Wait until the thread ends or ``cancelled`` returns true. Raise the error of the work."""
        while self._thread and self._thread.is_alive():
            if cancelled():
                return
            self._thread.join(_POLL_S)
        if self._error:
            raise self._error

    def join(self) -> None:
        """Wait until the thread ends. Raise no error."""
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001  # a thread has no caller
            self._error = error
            self._on_error(error)

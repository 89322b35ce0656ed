"""Parsing in worker processes: a parser that hangs, crashes or exhausts memory fails one file only.

Owns the pool of worker processes: each starts when first needed, is reused, and is replaced after it was killed or has
grown. The code inside them is in ``worker.py``.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path, PurePath
from types import TracebackType
from typing import Self

from ingest.document import ParsedDocument
from ingest.errors import (
    FileError,
    ParserCrashed,
    ParserOutOfMemory,
    ParserTimeout,
    ParserUnavailable,
)
from ingest.parser import load_parser
from ingest.reader import ParserOptions
from vectorstore.child_process import ChildProcess

_START_TIMEOUT_S = 60.0
_EXIT_TIMEOUT_S = 2.0  # after the connection has closed
_FIRST_CHECK_S, _LONGEST_CHECK_S = 0.005, 0.05  # between two checks of a worker's memory


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
    ) -> None:
        """Raises UnknownParser. Starts no process yet."""
        self._options = options or ParserOptions()
        self._parser = load_parser(parser_name, self._options)
        self.name = self._parser.name
        self._timeout_s = timeout_s
        self._memory_mb = memory_mb
        self._slots = threading.BoundedSemaphore(workers)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._closed = False

    def parse(self, path: Path) -> ParsedDocument:
        """Parse the file in a worker process, after waiting for a free one.

        The time limit restarts whenever the parser reports progress (``still_working``).

        Raises what the parser raises; ParserTimeout, ParserCrashed and ParserOutOfMemory when the worker had to be
        killed or died; ParserUnavailable, which does not blame the file, when no worker starts or this parser was
        closed.
        """
        with self._slots:
            worker = self._acquire()
            reusable = False
            try:
                outcome = worker.parse(path, self._timeout_s, self._memory_mb)
                # Freed memory seldom returns to the system, so a worker that has grown is replaced.
                reusable = worker.rss_mb() <= self._memory_mb / 2
            except FileError:
                if self._closed:  # close() killed the worker
                    raise self._closed_error() from None
                raise
            finally:
                self._release(worker, reusable)
        if isinstance(outcome, FileError):
            raise outcome
        return outcome

    def version_of(self, path: PurePath, mime_type: str = "") -> str:
        """Return what the parser returns."""
        return self._parser.version_of(path, mime_type)

    def is_current(self, stored: str, path: PurePath, mime_type: str = "") -> bool:
        """Return what the parser returns."""
        return self._parser.is_current(stored, path, mime_type)

    def close(self) -> None:
        """Kill all workers; a running ``parse`` raises ParserUnavailable. May be called again."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in self._busy:  # closed by the threads that use them
                worker.kill()
        for worker in idle:
            worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _acquire(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise self._closed_error()
            worker = self._idle.pop() if self._idle else _Worker(self.name)
            self._busy.add(worker)
        try:
            if not worker.started:
                worker.start(self._options)
        except BaseException:
            self._release(worker, reusable=False)
            raise
        return worker

    def _release(self, worker: _Worker, reusable: bool) -> None:
        with self._lock:
            self._busy.discard(worker)
            if reusable and not self._closed:
                self._idle.append(worker)
                return
        worker.close()

    def _closed_error(self) -> ParserUnavailable:
        return ParserUnavailable(f"The parser {self.name!r} is closed.")


class _Worker:
    """One worker process. One thread uses it at a time; only ``kill`` may be called from another."""

    def __init__(self, parser_name: str) -> None:
        self._parser_name = parser_name
        try:
            self._process = ChildProcess("ingest.isolation.worker:main", capture_output=True)
        except OSError as error:
            raise ParserUnavailable(f"The parser process cannot be started: {error}.") from error
        [self._connection] = self._process.connections
        self.started = False
        self.kill, self.close, self.rss_mb = self._process.kill, self._process.close, self._process.rss_mb

    def start(self, options: ParserOptions) -> None:
        """Wait until the parser is loaded. Raises ParserUnavailable."""
        try:
            self._connection.send((self._parser_name, options))
            if self._connection.poll(_START_TIMEOUT_S):
                self._connection.recv()
                self.started = True
                return
            reason = f"not ready after {_START_TIMEOUT_S:.0f} s"
        except (EOFError, OSError):
            reason = self._exit_reason()
        raise ParserUnavailable(f"The parser process for {self._parser_name!r} does not start: {reason}.")

    def parse(self, path: Path, timeout_s: float, memory_mb: int) -> ParsedDocument | FileError:
        """Return the parsed document or the parser's error. After an exception the worker cannot be used again."""
        self._process.clear_output()
        try:
            self._connection.send(path)
            while True:
                self._wait(path, timeout_s, memory_mb)
                message: ParsedDocument | FileError | str = self._connection.recv()
                if not isinstance(message, str):  # a string reports progress
                    return message
        except (EOFError, OSError):
            raise ParserCrashed(
                f"{path} crashed the parser {self._parser_name} ({self._exit_reason()}). "
                "Save the file again, or choose another parser."
            ) from None

    def _wait(self, path: Path, timeout_s: float, memory_mb: int) -> None:
        """Wait for the next message, and kill the worker when it exceeds a limit."""
        deadline = time.monotonic() + timeout_s
        pause = _FIRST_CHECK_S
        while not self._connection.poll(max(0.0, min(pause, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                self.kill()
                raise ParserTimeout(
                    f"{path} was not parsed within {timeout_s:g} s. Raise the time limit of parsing, or split the file."
                )
            if self.rss_mb() > memory_mb:
                self.kill()
                raise ParserOutOfMemory(
                    f"{path} took more than {memory_mb} MB to parse. Raise the memory limit of parsing, or split the "
                    "file."
                )
            pause = min(2 * pause, _LONGEST_CHECK_S)

    def _exit_reason(self) -> str:
        description, output = self._process.wait(_EXIT_TIMEOUT_S), self._process.last_output_line()
        return f"{description}: {output}" if output else description

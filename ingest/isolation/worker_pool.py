"""Processes untrusted files in worker processes. A file that hangs, crashes or exhausts memory affects no other file.

Owns the pool of worker processes: each starts when first needed, is reused, and is replaced after it was killed or has
grown. The code inside them is in ``worker.py``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from base.process import ChildProcess
from ingest.chunking.segments import TokenCounter
from ingest.containers.unpack import ContainerLimits, Member
from ingest.errors import FileError, IngestCancelled, ParserCrashed, ParserOutOfMemory, ParserTimeout, ParserUnavailable
from ingest.isolation.requests import STILL_WORKING, CountTokens, Request, UnpackRequest
from ingest.reader import ParserOptions

_START_TIMEOUT_S = 60.0
_EXIT_TIMEOUT_S = 2.0  # after the connection has closed
_FIRST_CHECK_S, _LONGEST_CHECK_S = 0.005, 0.2  # between two checks of a worker's memory
_COUNTED_TOGETHER, _CHARACTERS = 2_000, 1 << 18  # the tokenizer takes about 1 kB for each text, 200 B for a character


class WorkerPool:
    """Worker processes with limits on time and memory. Any number of threads may use it.

    Once ``cancelled`` returns True, work in progress is stopped and raises IngestCancelled.
    """

    def __init__(
        self,
        parser_name: str,
        options: ParserOptions,
        *,
        timeout_s: float,
        memory_mb: int,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start no process yet."""
        self._parser_name, self._options, self._timeout_s = parser_name, options, timeout_s
        self._memory_mb, self._cancelled = memory_mb, cancelled
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._closed = False

    def run(self, request: Request, count_tokens: TokenCounter | None = None) -> Any:
        """Return the result of the request. ``count_tokens`` answers the worker's questions.

        Raises the FileError of the request; ParserTimeout, ParserCrashed and ParserOutOfMemory when the worker had to
        be killed or died; IngestCancelled; ParserUnavailable, which does not blame the file, when no worker starts or
        this pool was closed.
        """
        with self._worker() as worker:
            return worker.run(request, count_tokens)

    def expand(self, path: Path, limits: ContainerLimits, folder: Path) -> Iterator[Member]:
        """Unpack a container as ``ingest.containers.unpack.expand`` does. Raises what ``run`` raises."""
        with self._worker() as worker:
            first = True
            while member := worker.run(UnpackRequest(str(path), limits, folder, first=first)):
                yield member
                first = False

    def close(self) -> None:
        """Kill all workers. Their current requests raise ParserUnavailable. May be called again."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in self._busy:  # closed by the threads that use them
                worker.kill()
        for worker in idle:
            worker.close()

    @contextmanager
    def _worker(self) -> Iterator[_Worker]:
        """Yield a worker for exclusive use. It is reused unless its state is unknown or its memory has grown."""
        try:
            worker = self._acquire()
        except _Killed:  # by the system, for example: one death must not end the whole ingest
            worker = self._acquire()
        reusable = False
        try:
            yield worker
            reusable = worker.is_ready
        except FileError:
            if self._closed:  # close() killed the worker
                raise self._closed_error() from None
            reusable = worker.is_ready
            raise
        finally:
            # Freed memory seldom returns to the system.
            self._release(worker, reusable and worker.rss_mb() <= self._memory_mb / 2)

    def _acquire(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise self._closed_error()
            if self._idle:
                worker = self._idle.pop()
            else:
                worker = _Worker(self._parser_name, self._timeout_s, self._memory_mb, self._cancelled)
            self._busy.add(worker)
        try:
            if not worker.is_ready:
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
        return ParserUnavailable(f"The parser {self._parser_name!r} is closed.")


class _Killed(ParserUnavailable):
    """A signal ended a worker while it started."""


class _Worker:
    """One worker process. Only one thread may use it at a time, but ``kill`` may be called from other threads."""

    def __init__(self, parser_name: str, timeout_s: float, memory_mb: int, cancelled: Callable[[], bool]) -> None:
        self._parser_name, self._timeout_s, self._memory_mb = parser_name, timeout_s, memory_mb
        self._cancelled = cancelled
        try:
            self._process = ChildProcess("ingest.isolation.worker:main", capture_output=True)
        except OSError as error:
            raise ParserUnavailable(f"The parser process cannot be started: {error}.") from error
        [self._connection] = self._process.connections
        self.is_ready = False
        """Whether the worker waits for a request."""
        self.kill, self.close, self.rss_mb = self._process.kill, self._process.close, self._process.rss_mb

    def start(self, options: ParserOptions) -> None:
        """Wait until the parser is loaded. Raises ParserUnavailable."""
        try:
            self._connection.send((self._parser_name, options))
            if self._arrives(time.monotonic() + _START_TIMEOUT_S):
                self._connection.recv()
                self.is_ready = True
                return
            reason = f"not ready after {_START_TIMEOUT_S:.0f} s"
        except (EOFError, OSError):
            reason = self._exit_reason()
        kind = _Killed if reason.startswith("SIG") else ParserUnavailable
        raise kind(f"The parser process for {self._parser_name!r} does not start: {reason}.")

    def run(self, request: Request, count_tokens: TokenCounter | None = None) -> Any:
        """Return the result of the request, or raise its error. The worker can be reused if it ``is_ready``."""
        self._process.clear_output()
        self.is_ready = False
        try:
            self._connection.send(request)
            outcome = self._outcome(request, count_tokens)
        except (EOFError, OSError):
            raise ParserCrashed(
                f"{request.path} crashed the parser {self._parser_name} ({self._exit_reason()}). "
                "Save the file again, or choose another parser."
            ) from None
        self.is_ready = True
        if isinstance(outcome, FileError):
            raise outcome
        return outcome

    def _outcome(self, request: Request, count_tokens: TokenCounter | None) -> Any:
        """Wait for the outcome. The time limit restarts when the worker reports progress."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            if not self._arrives(deadline, request):
                self.kill()
                raise ParserTimeout(
                    f"{request.path} was not {request.work} within {self._timeout_s:g} s. Raise the time limit of "
                    "parsing, or split the file."
                )
            match self._connection.recv():
                case str(text) if text == STILL_WORKING:
                    deadline = time.monotonic() + self._timeout_s
                case CountTokens(texts) if count_tokens:
                    self._connection.send(self._counts(texts, count_tokens))
                case outcome:
                    return outcome

    def _counts(self, texts: list[str], count_tokens: TokenCounter) -> list[int]:
        """Count in batches. A text that is longer than a batch is counted in parts."""
        counts = [0] * len(texts)
        for batch in _batches(texts):
            self._stop_if_cancelled()
            for (index, _), tokens in zip(batch, count_tokens([part for _, part in batch]), strict=True):
                counts[index] += tokens
        return counts

    def _arrives(self, deadline: float, request: Request | None = None) -> bool:
        """Return whether a message arrives before the deadline. Kill the worker when it takes too much memory."""
        pause = _FIRST_CHECK_S
        while not self._connection.poll(max(0.0, min(pause, deadline - time.monotonic()))):
            self._stop_if_cancelled()
            if time.monotonic() >= deadline:
                return False
            # Only slow files start programs, such as Tesseract.
            if request and self.rss_mb(with_children=pause == _LONGEST_CHECK_S) > self._memory_mb:
                self.kill()
                raise ParserOutOfMemory(
                    f"{request.path} took more than {self._memory_mb} MB to be {request.work}. Raise the memory limit "
                    "of parsing, or split the file."
                )
            pause = min(2 * pause, _LONGEST_CHECK_S)
        return True

    def _stop_if_cancelled(self) -> None:
        if self._cancelled():
            self.kill()
            raise IngestCancelled("The ingest was cancelled. The next one reads the files that are left.")

    def _exit_reason(self) -> str:
        description, output = self._process.wait(_EXIT_TIMEOUT_S), self._process.last_output_line()
        return f"{description}: {output}" if output else description


def _batches(texts: list[str]) -> Iterator[list[tuple[int, str]]]:
    """Yield the texts, each with its index, in lists of at most ``_COUNTED_TOGETHER`` texts and ``_CHARACTERS``."""
    batch: list[tuple[int, str]] = []
    size = 0
    for index, text in enumerate(texts):
        for start in range(0, len(text) or 1, _CHARACTERS):
            part = text[start : start + _CHARACTERS]
            if len(batch) == _COUNTED_TOGETHER or size + len(part) > _CHARACTERS:
                yield batch
                batch, size = [], 0
            batch.append((index, part))
            size += len(part)
    yield batch

"""Parsing in worker processes: a parser that hangs, crashes or eats memory costs the file it was at, and nothing else.

Owns the processes: they are started when first needed, reused, replaced when one had to be killed or has grown, and
never outlive this process. What runs inside them is in ``parsing_worker.py``. POSIX only.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing import Pipe
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ingest.errors import (
    FileError,
    ParserCrashed,
    ParserOutOfMemory,
    ParserTimeout,
    ParserUnavailable,
)
from ingest.parser import ParsedDocument, ParserOptions, load_parser

_START_SECONDS = 60.0
_END_SECONDS = 2.0  # for a process whose pipe has closed
_FIRST_LOOK, _LONGEST_LOOK = 0.005, 0.05  # seconds between two looks at a working worker's memory
_MB = 1 << 20
_STDERR_TAIL = 300

_WORKER = """
import sys
sys.path[:] = sys.argv[3:]
from ingest.isolation.worker import main
main(channel=int(sys.argv[1]), lifeline=int(sys.argv[2]))
"""


class IsolatedParser:
    """A parser whose work happens in up to ``workers`` processes; any number of threads may call it.

    >>> with IsolatedParser("kreuzberg", workers=2, timeout_s=120, memory_mb=2048) as parser:
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
        """Raises UnknownParser. Starts nothing yet."""
        self._options = options or ParserOptions()
        parser = load_parser(parser_name, self._options)
        self.name = parser.name
        self.version = parser.version
        self._timeout_s = timeout_s
        self._memory_mb = memory_mb
        self._places = threading.BoundedSemaphore(workers)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._closed = False

    def parse(self, path: Path) -> ParsedDocument:
        """Parse the file in a worker process; waits until one is free.

        The time limit starts again whenever the parser says that it gets on (``still_working``).

        Raises what the parser raises; ParserTimeout, ParserCrashed and ParserOutOfMemory for what it cannot survive;
        ParserUnavailable, no fault of the file, if workers do not start or this parser was closed meanwhile.
        """
        with self._places:
            worker = self._take()
            usable = False
            try:
                outcome = worker.parse(path, self._timeout_s, self._memory_mb)
                # The memory that a process has freed seldom goes back to the system: one that has grown starts anew.
                usable = worker.rss_mb() <= self._memory_mb / 2
            except FileError:
                if self._closed:  # killed by us, not by the file
                    raise self._closed_error() from None
                raise
            finally:
                self._give_back(worker, usable)
        if isinstance(outcome, FileError):
            raise outcome
        return outcome

    def close(self) -> None:
        """End all workers, also those at work: their ``parse`` raises ParserUnavailable. May be called again."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in self._busy:  # those who wait for these release them
                worker.kill()
        for worker in idle:
            worker.kill()
            worker.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise self._closed_error()
            worker = self._idle.pop() if self._idle else _Worker(self.name)
            self._busy.add(worker)
        try:
            if not worker.started:
                worker.start(self._options)
        except BaseException:
            self._give_back(worker, usable=False)
            raise
        return worker

    def _give_back(self, worker: _Worker, usable: bool) -> None:
        with self._lock:
            self._busy.discard(worker)
            if usable and not self._closed:
                self._idle.append(worker)
                return
        worker.kill()
        worker.release()

    def _closed_error(self) -> ParserUnavailable:
        return ParserUnavailable(f"The parser {self.name!r} was closed: nothing more is parsed.")


class _Worker:
    """One process, and the pipes to it. Used by one thread at a time; only ``kill`` may come from another."""

    def __init__(self, parser_name: str) -> None:
        self._parser_name = parser_name
        self._connection, theirs = Pipe()
        lifeline_end, self._lifeline = os.pipe()
        self._stderr: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # closed by release()
        self.started = False
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _WORKER, str(theirs.fileno()), str(lifeline_end), *sys.path],
                stdin=subprocess.DEVNULL,
                stdout=self._stderr,
                stderr=self._stderr,
                pass_fds=[theirs.fileno(), lifeline_end],
                start_new_session=True,  # an interrupt from the keyboard is for the ingesting process to handle
            )
        except OSError as error:
            self._connection.close()
            os.close(self._lifeline)
            self._stderr.close()
            raise ParserUnavailable(f"No process for parsing can be started: {error}.") from error
        finally:
            theirs.close()
            os.close(lifeline_end)

    def start(self, options: ParserOptions) -> None:
        """Wait until the parser is loaded."""
        try:
            self._connection.send((self._parser_name, options))
            if self._connection.poll(_START_SECONDS):
                self._connection.recv()
                self.started = True
                return
            reason = f"not ready after {_START_SECONDS:.0f} s"
        except (EOFError, OSError):
            reason = self._end()
        raise ParserUnavailable(f"The process for parsing with {self._parser_name!r} does not start: {reason}.")

    def parse(self, path: Path, timeout_s: float, memory_mb: int) -> ParsedDocument | FileError:
        """What the parser makes of the file, or says against it. After an error raised here the worker is lost."""
        self._stderr.seek(0)  # moves the worker's position too: both have the same open file
        self._stderr.truncate()
        try:
            self._connection.send(path)
            while True:
                self._wait(path, timeout_s, memory_mb)
                outcome: ParsedDocument | FileError | str = self._connection.recv()
                if not isinstance(outcome, str):  # no word that the parser gets on
                    return outcome
        except (EOFError, OSError):
            raise ParserCrashed(
                f"{path} crashed the parser {self._parser_name} ({self._end()}). "
                "Save the file anew, or choose another parser."
            ) from None

    def _wait(self, path: Path, timeout_s: float, memory_mb: int) -> None:
        deadline = time.monotonic() + timeout_s
        pause = _FIRST_LOOK
        while not self._connection.poll(max(0.0, min(pause, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                self.kill()
                raise ParserTimeout(
                    f"{path} was not parsed within {timeout_s:g} s. Raise the time limit of parsing, or split it."
                )
            if self.rss_mb() > memory_mb:
                self.kill()
                raise ParserOutOfMemory(
                    f"{path} took more than {memory_mb} MB to parse. Raise the memory limit of parsing, or split it."
                )
            pause = min(2 * pause, _LONGEST_LOOK)

    def rss_mb(self) -> float:
        """Memory that the process takes now; 0 once it has ended."""
        import psutil

        try:
            return float(psutil.Process(self._process.pid).memory_info().rss / _MB)
        except psutil.NoSuchProcess:
            return 0.0

    def kill(self) -> None:
        """End the process and those it has started (its session is its own)."""
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:  # it ended by itself meanwhile
                return

    def release(self) -> None:
        """Give back what the ended process held of this one."""
        self._process.wait()
        self._connection.close()
        os.close(self._lifeline)
        self._stderr.close()

    def _end(self) -> str:
        """How the process ended: its signal or exit status, and the last that it wrote."""
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            status = self._process.wait()
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", "replace").split("\n")
        said = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{how}: {said[-_STDERR_TAIL:]}" if said else how

"""A parser that hangs, crashes or exhausts memory fails one file.

Reading a named pipe without a writer makes the parser hang.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from ingest.errors import (
    EmptyDocument,
    ParserCrashed,
    ParserOutOfMemory,
    ParserTimeout,
    ParserUnavailable,
    UnknownParser,
)
from ingest.isolation.isolated_parser import IsolatedParser
from ingest.isolation.worker_pool import _Worker
from ingest.parser import load_parser
from ingest.reader import ParserOptions
from support.processes import live_children
from support.waiting import LIMIT_S, until


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "note.txt"
    path.write_text("The pump stands in the cellar.")
    return path


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A file that blocks its reader."""
    path = tmp_path / "endless.txt"
    os.mkfifo(path)
    return path


@pytest.fixture
def make_parser() -> Iterator[Callable[..., IsolatedParser]]:
    made: list[IsolatedParser] = []

    def make(*, workers: int = 1, timeout_s: float = 60, memory_mb: int = 2048) -> IsolatedParser:
        made.append(IsolatedParser("default", workers=workers, timeout_s=timeout_s, memory_mb=memory_mb))
        return made[-1]

    yield make
    for parser in made:
        parser.close()


def worker_ids(of: int | None = None) -> set[int]:
    return {child.pid for child in live_children("ingest.isolation.worker", of)}


def test_the_document_equals_that_of_the_plain_parser(make_parser: Callable[..., IsolatedParser], text: Path) -> None:
    plain, isolated = load_parser("default"), make_parser()
    assert (isolated.name, isolated.version_of(text)) == (plain.name, plain.version_of(text))
    assert isolated.parse(text) == plain.parse(text)


def test_errors_of_the_parser_are_raised(make_parser: Callable[..., IsolatedParser], tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" ")
    with pytest.raises(EmptyDocument, match=r"empty\.txt"):
        make_parser().parse(tmp_path / "empty.txt")


def test_an_unknown_parser_raises_at_once() -> None:
    with pytest.raises(UnknownParser, match="default"):
        IsolatedParser("none", workers=1, timeout_s=1, memory_mb=1)


def test_workers_start_when_needed_and_are_reused(
    make_parser: Callable[..., IsolatedParser], text: Path, tmp_path: Path
) -> None:
    before = worker_ids()
    parser = make_parser(workers=2)
    assert worker_ids() == before
    parser.parse(text)
    (started,) = worker_ids() - before
    (tmp_path / "empty.txt").touch()
    with pytest.raises(EmptyDocument):
        parser.parse(tmp_path / "empty.txt")
    parser.parse(text)
    assert worker_ids() - before == {started}


def test_threads_share_the_workers(make_parser: Callable[..., IsolatedParser], tmp_path: Path) -> None:
    before = worker_ids()
    parser = make_parser(workers=2)
    paths = [tmp_path / f"{number}.txt" for number in range(40)]
    for path in paths:
        path.write_text(f"Words of {path.name}.")
    with ThreadPoolExecutor(8) as pool:
        assert [document.text for document in pool.map(parser.parse, paths)] == [f"Words of {p.name}." for p in paths]
    assert len(worker_ids() - before) == 2


def test_a_hanging_parser_is_stopped(make_parser: Callable[..., IsolatedParser], endless: Path, text: Path) -> None:
    parser = make_parser(timeout_s=0.5)

    def parses() -> bool:
        try:
            return parser.parse(text).text == "The pump stands in the cellar."
        except ParserTimeout:  # on a slow machine
            return False

    until(parses)
    with pytest.raises(ParserTimeout, match=r"endless\.txt was not parsed within 0\.5 s"):
        parser.parse(endless)
    until(parses)


def test_a_native_crash_fails_one_file(make_parser: Callable[..., IsolatedParser], endless: Path, text: Path) -> None:
    before = worker_ids()
    parser = make_parser()
    parser.parse(text)
    (worker,) = worker_ids() - before
    with ThreadPoolExecutor(1) as pool:
        parsing = pool.submit(parser.parse, endless)
        with endless.open("wb"):  # opens once the worker reads
            os.kill(worker, signal.SIGSEGV)
        with pytest.raises(ParserCrashed, match=r"endless\.txt crashed the parser default \(SIGSEGV\)"):
            parsing.result()
    assert parser.parse(text).text == "The pump stands in the cellar."


def test_exceeding_the_memory_limit_raises(
    make_parser: Callable[..., IsolatedParser], tmp_path: Path, text: Path
) -> None:
    (tmp_path / "large.txt").write_bytes(b"many words " * 15_000_000)
    parser = make_parser(memory_mb=150)
    with pytest.raises(ParserOutOfMemory, match=r"large\.txt took more than 150 MB"):
        parser.parse(tmp_path / "large.txt")
    assert parser.parse(text).text == "The pump stands in the cellar."


def test_a_worker_that_has_grown_is_replaced(make_parser: Callable[..., IsolatedParser], text: Path) -> None:
    before = worker_ids()
    parser = make_parser(memory_mb=80)  # a new worker already uses more than half
    parser.parse(text)
    assert worker_ids() == before


def test_close_ends_a_running_parse(make_parser: Callable[..., IsolatedParser], endless: Path) -> None:
    before = worker_ids()
    parser = make_parser()
    with ThreadPoolExecutor(1) as pool:
        parsing = pool.submit(parser.parse, endless)
        with endless.open("wb"):
            parser.close()
            with pytest.raises(ParserUnavailable):
                parsing.result()
    with pytest.raises(ParserUnavailable, match="closed"):
        parser.parse(endless)
    until(lambda: worker_ids() == before)


def test_no_worker_outlives_a_killed_ingest(endless: Path, text: Path) -> None:
    """One worker is idle, the other hangs."""
    script = f"""
import sys, threading; sys.path[:] = {sys.path!r}
from pathlib import Path
from ingest.isolation.isolated_parser import IsolatedParser
from ingest.isolation.worker_pool import _Worker
parser = IsolatedParser("default", workers=2, timeout_s={LIMIT_S}, memory_mb=2048)
threading.Thread(target=parser.parse, args=[Path({str(endless)!r})], daemon=True).start()
parser.parse(Path({str(text)!r}))
print("parsed", flush=True)
threading.Event().wait()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as ingest:
        assert ingest.stdout is not None
        assert ingest.stdout.readline() == b"parsed\n"
        workers = worker_ids(ingest.pid)
        assert len(workers) == 2
        ingest.kill()
    until(lambda: not any(map(psutil.pid_exists, workers)))


def test_workers_have_no_network() -> None:
    script = f"""
import sys; sys.path[:] = {sys.path!r}
import socket
from ingest.isolation.confinement import confine_process
confine_process()
for connect in (lambda: socket.create_connection(("127.0.0.1", 9)), lambda: socket.getaddrinfo("example.org", 80)):
    try:
        connect()
    except PermissionError as error:
        print(error)
"""
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert output.count("which parsers must not") == 2


def test_threads_may_close_at_the_same_time(make_parser: Callable[..., IsolatedParser], text: Path) -> None:
    parser = make_parser(workers=2)
    parser.parse(text)
    closing = [threading.Thread(target=parser.close) for _ in range(4)]
    for thread in closing:
        thread.start()
    for thread in closing:
        thread.join()


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_worker_that_is_killed_while_it_starts_is_started_once_more(
    make_parser: Callable[..., IsolatedParser], text: Path, monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    start, killed = _Worker.start, list[int]()

    def kill_and_start(worker: _Worker, options: ParserOptions) -> None:
        if len(killed) < deaths:
            killed.append(worker._process.pid)
            worker.kill()
        start(worker, options)

    monkeypatch.setattr(_Worker, "start", kill_and_start)
    if deaths == 1:
        assert make_parser().parse(text).text == "The pump stands in the cellar."
    else:
        with pytest.raises(ParserUnavailable, match="SIGKILL"):
            make_parser().parse(text)
    assert len(killed) == deaths

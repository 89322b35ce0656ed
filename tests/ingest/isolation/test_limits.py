"""Chunking and unpacking have the limits of parsing, and a cancel stops all of them within a file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ingest.chunking.chunker import Chunker, Source
from ingest.containers.unpack import ContainerLimits, Member, expand
from ingest.document import ParsedDocument
from ingest.errors import IngestCancelled, ParserOutOfMemory, ParserTimeout, TextTooLong, TooManyPassages
from ingest.isolation.isolated_parser import IsolatedChunker, IsolatedParser
from ingest.parser import load_parser
from vectorstore.embedding.embedder import Embedder

SOURCE = Source(document_id="d", path="/papers/pumps.json", name="pumps.json", version="v")


@pytest.fixture
def make_parser() -> Iterator[Callable[..., IsolatedParser]]:
    made: list[IsolatedParser] = []

    def make(**changed: Any) -> IsolatedParser:
        limits = {"workers": 1, "timeout_s": 300, "memory_mb": 2048} | changed
        made.append(IsolatedParser("default", **limits))
        return made[-1]

    yield make
    for parser in made:
        parser.close()


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A file that blocks its reader."""
    path = tmp_path / "endless.txt"
    os.mkfifo(path)
    return path


@pytest.fixture
def parsed(tmp_path: Path) -> ParsedDocument:
    """Lines, a sentence longer than a passage, and characters without spaces between them."""
    path = tmp_path / "pumps.json"
    lines = "".join(f'{{"pump": {number}, "noise": "{number % 60} dB"}}\n' for number in range(200))
    path.write_text(lines + "word " * 400 + "\n" + "[" * 300)
    return load_parser("default").parse(path)


def test_the_chunks_of_a_worker_equal_those_of_the_chunker(
    make_parser: Callable[..., IsolatedParser], embedder: Embedder, parsed: ParsedDocument
) -> None:
    chunker = Chunker(embedder.count_tokens, 64, 16)
    isolated = IsolatedChunker(chunker, make_parser().pool, max_passages=1000)
    assert isolated.fingerprint == chunker.fingerprint
    assert isolated.chunk(parsed, SOURCE) == chunker.chunk(parsed, SOURCE)


def test_too_many_passages_fail_the_file(
    make_parser: Callable[..., IsolatedParser], embedder: Embedder, parsed: ParsedDocument
) -> None:
    chunker = Chunker(embedder.count_tokens, 64)
    number = len(chunker.chunk(parsed, SOURCE))
    with pytest.raises(TooManyPassages, match=rf"pumps\.json has {number} passages; the limit is 5\. Split it, or rai"):
        IsolatedChunker(chunker, make_parser().pool, max_passages=5).chunk(parsed, SOURCE)


def test_too_much_text_fails_the_file(make_parser: Callable[..., IsolatedParser], tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("many words " * 150_000)
    with pytest.raises(
        TextTooLong, match=r"long\.txt has 1\.6 MB of text; the limit is 1 MB\. Split it, or raise max_"
    ):
        make_parser(max_text_mb=1).parse(tmp_path / "long.txt")


def test_too_many_paragraphs_fail_the_file(make_parser: Callable[..., IsolatedParser], tmp_path: Path) -> None:
    """A paragraph takes as much memory as 750 characters."""
    (tmp_path / "lines.txt").write_text("Pump\n\n" * 9_000)
    with pytest.raises(
        TextTooLong, match=r"lines\.txt has 9,000 paragraphs, tables and pages; the limit is 8,000\. Sp"
    ):
        make_parser(max_text_mb=1).parse(tmp_path / "lines.txt")


def test_a_very_long_cell_is_counted_in_parts(make_parser: Callable[..., IsolatedParser], tmp_path: Path) -> None:
    """Counted at once, the 12 million words of a cell took 6 GB of the process that has the model."""
    counted: list[int] = []

    def count_tokens(texts: Sequence[str]) -> list[int]:
        counted.append(sum(map(len, texts)))
        return [len(text) // 2 for text in texts]

    (tmp_path / "cell.csv").write_text('pump,note\n"' + "x y " * 200_000 + '",1\n')
    parsed = load_parser("default").parse(tmp_path / "cell.csv")
    chunker = IsolatedChunker(Chunker(count_tokens, 254), make_parser().pool, max_passages=20_000)
    chunks = chunker.chunk(parsed, SOURCE)
    assert max(counted) <= 2**18
    assert sum(chunk.text.count("x") for chunk in chunks) >= 200_000


def test_short_parts_are_counted_together(embedder: Embedder, tmp_path: Path) -> None:
    """Each call of the tokenizer takes about 0.1 ms: 3,000,000 of them made a file of 3 MB take minutes."""
    calls = []

    def count_tokens(texts: list[str]) -> list[int]:
        calls.append(len(texts))
        return embedder.count_tokens(texts)

    (tmp_path / "nested.json").write_text("[" * 20_000 + "]" * 20_000)
    (tmp_path / "numbers.json").write_text(str([number * 7919 % 100_003 for number in range(4_000)]))
    for path in (tmp_path / "nested.json", tmp_path / "numbers.json"):
        calls.clear()
        chunks = Chunker(count_tokens, 254, 64).chunk(load_parser("default").parse(path), SOURCE)
        assert len(calls) < 2 * len(chunks) + 20


def test_a_container_is_unpacked_in_a_worker(make_parser: Callable[..., IsolatedParser], tmp_path: Path) -> None:
    mail = tmp_path / "mail.eml"
    mail.write_text(
        "Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain; name=a.txt\n\nPumps.\n--x--\n"
    )

    def unpacked(unpack: Callable[[Path, ContainerLimits, Path], Iterator[Member]], name: str) -> list[tuple[str, str]]:
        folder = tmp_path / name
        folder.mkdir()
        members = list(unpack(mail, ContainerLimits(), folder))
        return [(member.name, member.path.read_text() if member.path else member.reason) for member in members]

    expected = [("a.txt", "Pumps.")]
    pool = make_parser().pool
    assert unpacked(expand, "here") == unpacked(pool.expand, "there") == unpacked(pool.expand, "again") == expected


def test_unpacking_has_a_time_limit(
    make_parser: Callable[..., IsolatedParser],
    endless: Path,
    tmp_path: Path,
    parsed: ParsedDocument,
    embedder: Embedder,
) -> None:
    pool = make_parser(timeout_s=0.5).pool
    with pytest.raises(ParserTimeout, match=r"endless\.txt was not unpacked within 0\.5 s"):
        next(pool.expand(endless, ContainerLimits(), tmp_path))

    def count_slowly(texts: list[str]) -> list[int]:
        time.sleep(0.6)
        return embedder.count_tokens(texts)

    with pytest.raises(ParserTimeout, match=r"pumps\.json was not cut into passages within 0\.5 s"):
        IsolatedChunker(Chunker(count_slowly, 64), pool, 1000).chunk(parsed, SOURCE)


@pytest.mark.parametrize("kind", ['multipart/mixed; boundary="' + ";" * 560_000, "multipart/x" + "; p=v" * 112_000])
def test_a_mail_with_a_very_long_field_is_rejected(kind: str, tmp_path: Path) -> None:
    """Python reads the parameters in a time that grows with the square of their length: 12 s for 560 kB."""
    mail = tmp_path / "hostile.eml"
    mail.write_text(f"From: a@b.example\nContent-Type: {kind}\n\nHello.\n")
    started = time.process_time()
    [rest] = expand(mail, ContainerLimits(), tmp_path)
    assert time.process_time() - started < 1
    assert (
        rest.reason
        == f"the mail file is damaged: its field Content-Type has {len(kind):,} characters, but the limit is 8,192"
    )


def test_a_mail_with_many_recipients_is_read(tmp_path: Path) -> None:
    mail = tmp_path / "round.eml"
    to = ",\n ".join(f"Somebody {number} <person{number}@example.com>" for number in range(2_000))
    mail.write_text(
        f"To: {to}\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Disposition: attachment\n\nHi\n--x--\n"
    )
    assert [member.reason for member in expand(mail, ContainerLimits(), tmp_path)] == [""]


def test_a_cancel_stops_a_worker(make_parser: Callable[..., IsolatedParser], endless: Path, tmp_path: Path) -> None:
    cancelled = threading.Event()
    parser = make_parser(cancelled=cancelled.is_set)
    with ThreadPoolExecutor(1) as threads:
        parsing = threads.submit(parser.parse, endless)
        with endless.open("wb"):  # opens once the worker reads
            cancelled.set()
            with pytest.raises(IngestCancelled):
                parsing.result(60)


def test_the_memory_of_tesseract_counts(
    make_parser: Callable[..., IsolatedParser], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "tesseract"
    program.parent.mkdir()
    program.write_text(
        """#!/bin/sh
[ "$1" = --list-langs ] && { echo "List of languages (1):"; echo eng; exit; }
exec python3 -c 'import time; held = b"x" * (600 << 20); time.sleep(1000)'
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    Image.new("RGB", (90, 90)).save(tmp_path / "scan.png")
    with pytest.raises(ParserOutOfMemory, match=r"scan\.png took more than 500 MB to be parsed"):
        make_parser(memory_mb=500, timeout_s=100).parse(tmp_path / "scan.png")

"""Reading takes linear time, also for texts with very long runs of one character."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ingest.parser import ParserOptions
from ingest.parsers.default import DocumentParser

SIZE = 200_000


@pytest.mark.parametrize(
    ("suffix", "run"),
    [
        ("txt", " "),
        ("md", " "),
        ("mbox", "\t "),
        ("py", "\n "),
        ("json", "\n"),
        ("yaml", " \n"),
        ("adoc", "<"),
        ("adoc", " "),
    ],
)
def test_a_long_run_is_read_in_seconds(tmp_path: Path, suffix: str, run: str) -> None:
    path = tmp_path / f"long.{suffix}"
    path.write_text(f"It was{run * (SIZE // len(run))}x times.\n  y\n")
    started = time.process_time()
    text = DocumentParser(ParserOptions()).parse(path).text
    assert time.process_time() - started < 10, "before, minutes"
    assert text.startswith("It was")
    assert text.endswith("y")

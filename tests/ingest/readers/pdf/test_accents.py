"""Accents that a PDF draws as characters of their own belong to their letters."""

from __future__ import annotations

from pathlib import Path

from ingest.parser import load_parser
from support.raw_pdf import RawPage, write_raw_pdf

_OVER = r"{}) Tj [444 (\310) -111 ({})] TJ ("  # a dieresis over the last letter, in Adobe's standard encoding


def test_an_accent_over_a_letter_is_joined_with_it(tmp_path: Path) -> None:
    lines = [_OVER.format("Die Pru", "fung"), _OVER.format("J o", "rg"), r"sign \310 alone", "5 x ^ 2"]
    text = load_parser("default").parse(write_raw_pdf(tmp_path / "a.pdf", [RawPage(lines)])).text
    assert text.split() == ["Die", "Prüfung", "J", "örg", "sign", "¨", "alone", "5", "x", "^", "2"]

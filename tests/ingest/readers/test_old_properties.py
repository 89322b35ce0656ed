"""The properties of old Office files are read in their code page, and forged ones do not cost time."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from ingest.readers.shared.old_properties import read_properties
from support.compound import write_compound


def _stream(page: int, title: bytes, count: int) -> bytes:
    values = struct.pack("<IHxx", 2, page) + struct.pack("<II", 0x1E, len(title)) + title
    listed = struct.pack("<IIII", 1, 24, 2, 32)
    return bytes(44) + struct.pack("<I", 48) + struct.pack("<II", 0, count) + listed + values


@pytest.mark.parametrize(("page", "encoding"), [(1251, "cp1251"), (65001, "utf-8")])
def test_texts_are_in_the_code_page_of_the_file(tmp_path: Path, page: int, encoding: str) -> None:
    tree = {"\x05SummaryInformation": _stream(page, "Договор".encode(encoding), 2)}
    assert read_properties(write_compound(tmp_path / "a.doc", tree).read_bytes()) == {"title": "Договор"}


def test_forged_counts_are_limited(tmp_path: Path) -> None:
    tree = {"\x05SummaryInformation": _stream(1252, b"Lease", 0xFFFFFFFF)}
    assert read_properties(write_compound(tmp_path / "a.doc", tree).read_bytes())["title"] == "Lease"


def test_a_file_without_properties_has_none(tmp_path: Path) -> None:
    assert read_properties(write_compound(tmp_path / "a.doc", {"WordDocument": b"x"}).read_bytes()) == {}

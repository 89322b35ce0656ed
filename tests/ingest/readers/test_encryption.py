"""Encrypted files of old Office programs are reported as encrypted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.errors import EncryptedDocument, ParseError
from ingest.parser import load_parser
from support.compound import write_compound
from support.files import write_docx

_WORD = bytes.fromhex("eca5c100") + bytes(7)
_BEGIN = bytes.fromhex("0908 1000 0006 0500") + bytes(12)
_FILE_PASS = bytes.fromhex("2f00 0600 0000") + bytes(4)
_USER = bytes.fromhex("0000 f60f 1400 0000 1400 0000")


def _streams(*, encrypted: bool) -> dict[str, tuple[str, bytes]]:
    return {
        "a.doc": ("WordDocument", _WORD + bytes([encrypted]) + bytes(6000)),
        "a.xls": ("Workbook", _BEGIN + (_FILE_PASS if encrypted else b"") + bytes.fromhex("0a000000") + bytes(6000)),
        "a.ppt": ("Current User", _USER + bytes.fromhex("dfc4d1f3" if encrypted else "5fc091e3") + bytes(6000)),
    }


@pytest.mark.parametrize("name", ["a.doc", "a.xls", "a.ppt"])
def test_encrypted_files_of_old_office_programs_are_called_encrypted(tmp_path: Path, name: str) -> None:
    stream, content = _streams(encrypted=True)[name]
    path = write_compound(tmp_path / name, {stream: content})
    with pytest.raises(EncryptedDocument, match="Save a copy without its password"):
        load_parser("default").parse(path)


@pytest.mark.parametrize("name", ["a.doc", "a.xls", "a.ppt"])
def test_other_damaged_files_are_not_called_encrypted(tmp_path: Path, name: str) -> None:
    stream, content = _streams(encrypted=False)[name]
    path = write_compound(tmp_path / name, {stream: content})
    with pytest.raises(ParseError) as raised:
        load_parser("default").parse(path)
    assert not isinstance(raised.value, EncryptedDocument)


def test_an_encrypted_member_of_a_package_is_called_encrypted(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "a.docx", ["Pumps."])
    content = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # headers of members, and of the directory
        at = -1
        while (at := content.find(mark, at + 1)) >= 0:
            content[at + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(EncryptedDocument, match="Save a copy without its password"):
        load_parser("default").parse(path)

"""Formats that no library reads here: the reason names the program that converts them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ingest.containers.entries import container_kind
from ingest.errors import EncryptedDocument, UnsupportedFormat
from ingest.parser import load_parser
from ingest.readers.convertible import FORMATS
from support.compound import write_compound
from support.files import write_pdf

_REST = bytes(500)
FILES = {
    "letter.wpd": (b"\xffWPC" + _REST, "WordPerfect .* soffice --headless --convert-to docx FILE"),
    "letter.doc": (b"\xffWPC" + _REST, "WordPerfect"),
    "help.chm": (b"ITSF\x03" + _REST, "7z x FILE -oFOLDER"),
    "notes.one": (bytes.fromhex("e4525c7b8cd8a74daeb15378d02996d3") + _REST, "OneNote .* export it as PDF or Word"),
    "notes": (bytes.fromhex("e4525c7b8cd8a74daeb15378d02996d3") + _REST, "OneNote"),
    "budget.wks": (b"\xff\x00\x02\x00" + _REST, "Works .* --convert-to xlsx"),
    "budget.wk1": (bytes.fromhex("00000200060406000800") + _REST, "Lotus 1-2-3 .* --convert-to xlsx"),
    "mails.pst": (b"!BDN" + _REST, "readpst"),
    "parts.rar": (b"Rar!\x1a\x07\x00" + _REST, "unar"),
    "book.mobi": (_REST[:60] + b"BOOKMOBI" + _REST, "ebook-convert"),
    "scan.djvu": (b"AT&TFORM" + _REST, "ddjvu"),
    "talk.mp3": (b"ID3\x04\x00" + _REST, "transcript"),
    "unknown.qqq": (b"\x01\x02" + _REST, "Convert it to PDF or text"),
}


@pytest.mark.parametrize("name", FILES)
def test_the_reason_names_what_converts_the_file(tmp_path: Path, name: str) -> None:
    content, advice = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UnsupportedFormat, match=advice) as raised:
        load_parser("default").parse(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(("name", "format_"), [("a.wps", "Works"), ("a.pub", "Publisher"), ("a.vsd", "Visio")])
def test_files_of_other_office_programs_are_not_called_damaged(tmp_path: Path, name: str, format_: str) -> None:
    path = write_compound(tmp_path / name, {"CONTENTS": b"x" * 6000})
    with pytest.raises(UnsupportedFormat, match=f"{format_} .* soffice --headless --convert-to"):
        load_parser("default").parse(path)


@pytest.mark.parametrize("name", ["a.pages", "a.numbers", "a.key"])
def test_a_file_of_pages_without_a_preview_names_what_to_export(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w") as package:
        package.writestr("Index/Document.iwa", b"\0\1")
    with pytest.raises(UnsupportedFormat, match=r"Pages, Numbers or Keynote.* Export it as PDF, Word or Excel"):
        load_parser("default").parse(tmp_path / name)


def test_a_numbers_file_with_a_password_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.numbers", "w") as package:
        package.writestr("Index/Document.iwa", b"\0\1")
        package.writestr(".iwpv2", b"\0")
    with pytest.raises(EncryptedDocument, match="without its password"):
        load_parser("default").parse(tmp_path / "a.numbers")


@pytest.mark.parametrize("name", ["a.pages", "a.numbers", "a.key"])
def test_the_preview_of_a_file_of_pages_is_read_with_a_warning(tmp_path: Path, name: str) -> None:
    preview = write_pdf(tmp_path / "a.pdf", parts=["The rent is 900 euros."])
    with zipfile.ZipFile(tmp_path / name, "w") as package:
        package.write(preview, "QuickLook/Preview.pdf")
    assert container_kind(tmp_path / name) is None
    document = load_parser("default").parse(tmp_path / name)
    assert document.text == "The rent is 900 euros."
    assert document.warnings[0].startswith("Only the preview in the file was read")


@pytest.mark.parametrize("name", ["a.wpd", "a.one", "a.pub", "a.mp4", "a.chm"])
def test_text_with_the_name_of_another_format_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("The pump is quiet.")
    assert load_parser("default").parse(path).text == "The pump is quiet."


def test_the_page_of_formats_has_every_advice() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    commands = [part for one in FORMATS for part in one.advice.split(": ", 1)[1:] if " FILE" in part]
    assert len(commands) > 8
    missing = [command for command in commands if command.split(" (")[0] not in page]
    assert missing == []

"""Readers are found by being in ``ingest/readers``, and the most specific one reads a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path, PurePath

import pytest

from ingest import readers
from ingest.parser import load_parser
from ingest.reader import ReaderRegistry

NOTES = """
from ingest.reader import Reader


def read_notes(request, into):
    title, _, body = request.data.decode().partition("\\n")
    into.heading(title, level=1)
    into.prose(body)
    return {"title": title}


READER = Reader(name="notes", version=1, read=read_notes, suffixes=(".note",))
"""


@pytest.mark.parametrize("name", ["notes_in_a_module.py", "notes_in_a_package/notes.py"])
def test_a_new_module_is_a_new_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module = tmp_path / "readers" / name
    module.parent.mkdir(parents=True)
    module.write_text(NOTES)
    if module.parent.name != "readers":
        (module.parent / "__init__.py").touch()
    monkeypatch.setattr(readers, "__path__", [*readers.__path__, str(tmp_path / "readers")])
    parser = load_parser("default")
    note = tmp_path / "monday.note"
    note.write_text("Monday\nThe pump is quiet.")
    document = parser.parse(note)
    assert (document.title, document.text, document.parser) == ("Monday", "Monday\n\nThe pump is quiet.", "notes/1")


def test_readers_have_unique_names_and_patterns() -> None:
    found = ReaderRegistry().readers
    assert not [name for name, count in Counter(reader.name for reader in found).items() if count > 1]
    claims = Counter((pattern, reader.suffixes) for reader in found for pattern in reader.mime_types)
    assert not [claim for claim, count in claims.items() if count > 1]


@pytest.mark.parametrize(
    ("mime_type", "name", "reader"),
    [
        ("application/pdf", "a.pdf", "pdf"),
        ("image/png", "a.png", "image"),
        ("image/svg+xml", "a.svg", "xml"),
        ("application/rss+xml", "a.rss", "xml"),
        ("application/xhtml+xml", "a.xhtml", "html"),
        ("application/docbook+xml", "a.dbk", "xml"),
        ("application/vnd.wordperfect", "a.wpd", "convertible"),
        ("image/vnd.djvu", "a.djvu", "convertible"),
        ("application/vnd.ms-xpsdocument", "a.xps", "xps"),
        ("text/x-source-code", "a.py", "code"),
        ("text/x-source-code", "a.ADOC", "asciidoc"),
        ("application/vnd.ms-word.document.macroEnabled.12", "a.docm", "word"),
        ("application/msword", "a.doc", "legacy_word"),
        ("application/vnd.ms-powerpoint", "a.ppt", "legacy_slides"),
        ("application/vnd.ms-powerpoint.slideshow.macroEnabled.12", "a.ppsm", "slides"),
        ("application/vnd.oasis.opendocument.spreadsheet", "a.ods", "sheets"),
        ("application/epub+zip", "a.epub", "epub"),
    ],
)
def test_the_most_specific_reader_is_chosen(mime_type: str, name: str, reader: str) -> None:
    assert ReaderRegistry().find(mime_type, PurePath(name)).name == reader

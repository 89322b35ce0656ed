"""Reads plain text into blocks: any text file in any encoding, source code, and tables of separated values."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from ingest.errors import UnsupportedFormat
from ingest.readers.shared.document_builder import DocumentBuilder

_PARAGRAPHS = re.compile(r"\n[ \t]*\n+")
_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]")
_BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}


def decode(data: bytes, path: Path) -> str:
    """The bytes as text: by their byte order mark, as UTF-8, or in the encoding that fits them best."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    if b"\x00" in data:
        raise UnsupportedFormat(f"{path} is a binary file of an unknown format. Convert it to PDF or text first.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _guessed(data, path)


def _guessed(data: bytes, path: Path) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None:
        raise UnsupportedFormat(f"{path} is neither text nor a known format. Convert it to PDF or text first.")
    return str(best)


def read_text(text: str, into: DocumentBuilder) -> None:
    """Paragraphs apart by blank lines; a paragraph of marked lines is a list."""
    for paragraph in _PARAGRAPHS.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = [line for line in paragraph.split("\n") if line.strip()]
        if len(lines) > 1 and all(_BULLET.match(line) for line in lines):
            into.list_items(lines)
        else:
            into.prose(paragraph)


def read_code(text: str, into: DocumentBuilder) -> None:
    """Source code or data as it stands, in pieces apart by blank lines before an unindented line."""
    for piece in re.split(r"\n(?:[ \t]*\n)+(?=\S)", text.replace("\r\n", "\n").replace("\r", "\n")):
        into.code(piece)


def read_separated(text: str, into: DocumentBuilder) -> None:
    """A table of comma, semicolon, tab or pipe separated values; its first row is its header."""
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:16384], delimiters=",;\t|")
    except csv.Error:  # one column only: any delimiter does
        dialect = csv.excel
    into.table(list(csv.reader(text.splitlines(keepends=True), dialect)))

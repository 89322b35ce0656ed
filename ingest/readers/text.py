"""Reads plain text."""

from __future__ import annotations

import re

from ingest.decoding import decode
from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.front_matter import read_front_matter
from vectorstore.models import Scalar

_BLANK_LINES = re.compile(r"\n[ \t]*\n+")
_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]")


def read_text(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the text's paragraphs and lists, and the fields of its front matter, to the builder; return its title."""
    text = decode(request.data, request.path, into.warn)
    write_text(text, into)
    return {"title": read_front_matter(text, into)}


def write_text(text: str, into: DocumentBuilder) -> None:
    """Add paragraphs, separated by blank lines, to the builder. A paragraph of bulleted lines becomes a list."""
    for paragraph in _BLANK_LINES.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = [line for line in paragraph.split("\n") if line.strip()]
        if len(lines) > 1 and all(_BULLET.match(line) for line in lines):
            into.list_items(lines)
        else:
            into.prose(paragraph)


READER = Reader(name="text", version=5, read=read_text, mime_types=("text/plain",))

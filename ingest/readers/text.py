"""Reads plain text, and YAML front matter: the title of a note or a text, and fields of the document."""

from __future__ import annotations

import re

from ingest.decoding import decode, without_escapes
from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar

FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
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


def read_front_matter(source: str, into: DocumentBuilder) -> str:
    """Add the fields to the builder. Return the title, or an empty text."""
    import yaml

    front = FRONT_MATTER.match(source)
    try:  # all values are texts for this loader; others read the time 12:30 as a number, and no as false
        fields = yaml.load(without_escapes(front[1]), getattr(yaml, "CBaseLoader", yaml.BaseLoader)) if front else None
    except (yaml.YAMLError, RecursionError) as error:
        into.warn(f"Its front matter is not valid YAML, so its fields are not read: {' '.join(str(error).split())}")
        return ""
    if not isinstance(fields, dict):
        return ""
    title = fields.pop("title", "")
    into.describe(fields.items())
    return title if isinstance(title, str) else ""


READER = Reader(name="text", version=6, read=read_text, mime_types=("text/plain",))

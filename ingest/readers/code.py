"""Reads source code."""

from __future__ import annotations

import re

from ingest.decoding import decode, without_escapes
from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar

_BEFORE_UNINDENTED_LINE = re.compile(r"(?<=[^ \t\n])[ \t]*+\n(?:[ \t]*+\n)++(?=\S)")
"""Begins at the end of a line with text and never backtracks, so that it takes linear time."""


def read_code(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the code to the builder: a block ends at blank lines before an unindented line."""
    text = decode(request.data, request.path, into.warn)
    write_code(without_escapes(text) if request.path.suffix == ".properties" else text, into)
    return {}


def write_code(text: str, into: DocumentBuilder) -> None:
    """Add source code to the builder."""
    for block in _BEFORE_UNINDENTED_LINE.split(text.replace("\r\n", "\n").replace("\r", "\n")):
        into.code(block)


READER = Reader(name="code", version=3, read=read_code, mime_types=("text/x-source-code",))

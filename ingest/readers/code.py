"""Reads source code, JSON, YAML and TOML."""

from __future__ import annotations

import re

from ingest.decoding import decode
from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar

_BEFORE_UNINDENTED_LINE = re.compile(r"(?<=[^ \t\n])[ \t]*+\n(?:[ \t]*+\n)++(?=\S)")
"""Begins at the end of a line with text and never backtracks, so that it takes linear time."""


def read_code(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the code to the builder: a block ends at blank lines before an unindented line."""
    text = decode(request.data, request.path, into.warn).replace("\r\n", "\n").replace("\r", "\n")
    for block in _BEFORE_UNINDENTED_LINE.split(text):
        into.code(block)
    return {}


READER = Reader(
    name="code",
    version=1,
    read=read_code,
    mime_types=(
        "text/x-source-code",
        "application/json",
        "application/x-ndjson",
        "application/x-yaml",
        "application/toml",
    ),
)

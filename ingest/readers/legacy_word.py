"""Reads old Word files (.doc). kreuzberg gives their text as one run of lines, as it is stored in the file.

In it a tab ends each table cell, another tab ends each row, and the field codes of numbered captions are in the text.
"""

from __future__ import annotations

import re

from ingest.reader import Reader, ReadRequest
from ingest.readers.other_formats import read_nodes
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.kreuzberg_library import LIBRARY
from ingest.readers.text import write_text
from vectorstore.models import Scalar

_FIELD_CODE = re.compile(r" ?\bSEQ \w+ (?:\\\* ?\w+ )+")
_TABLE = re.compile(r"^.*\t\t$", re.MULTILINE)


def read_legacy_word(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's paragraphs and tables to the builder; return its title and properties."""
    return read_nodes(request, into, lambda text: write_flat_text(text, into))


def write_flat_text(text: str, into: DocumentBuilder) -> None:
    """Add the paragraphs and tables of a run of lines to the builder."""
    text = _FIELD_CODE.sub("", text)
    position = 0
    for table in _TABLE.finditer(text):
        write_text(text[position : table.start()], into)
        into.table([row.split("\t") for row in table[0].removesuffix("\t\t").split("\t\t")])
        position = table.end()
    write_text(text[position:], into)


READER = Reader(
    name="legacy_word", version=1, read=read_legacy_word, mime_types=("application/msword",), library=LIBRARY
)

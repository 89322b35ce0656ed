"""Reads old Word files (.doc): those of Word 97 to 2003 as .docx, with their form, notes, tables and lists.

kreuzberg reads older ones, and damaged ones with a warning. It gives their text as one run of lines: a tab ends each
table cell, another tab ends each row, and the field codes of numbered captions are in the text.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ingest.reader import Reader, ReadRequest
from ingest.readers.other_formats import read_nodes
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.encryption import require_unencrypted
from ingest.readers.shared.kreuzberg_library import LIBRARY
from ingest.readers.shared.old_properties import DAMAGE, read_properties
from ingest.readers.text import write_text
from ingest.readers.word.binary.document import converted
from ingest.readers.word.binary.file import WORD_97, WordFile
from ingest.readers.word.word import read_word
from vectorstore.models import Scalar

_FIELD_CODE = re.compile(r" ?\bSEQ \w+ (?:\\\* ?\w+ )+")
_TABLE = re.compile(r"^.*\t\t$", re.MULTILINE)


def read_legacy_word(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's paragraphs and tables to the builder; return its title and properties."""
    require_unencrypted(request.data, request.path)
    try:
        file = WordFile(request.data)
        package = converted(file) if file.version >= WORD_97 else b""
        properties = read_properties(request.data)
    except DAMAGE as error:
        into.warn(f"The file is damaged ({error}): its text was read without notes, tables and tracked changes.")
        package = b""
    if not package:
        return read_nodes(request, into, lambda text: write_flat_text(text, into))
    read_word(replace(request, data=package), into)
    return properties


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
    name="legacy_word", version=5, read=read_legacy_word, mime_types=("application/msword",), library=LIBRARY
)

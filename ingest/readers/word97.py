"""Makes blocks of the text of old Word files (.doc), which kreuzberg gives as it lies in the file: one run of lines.

In it a tab ends each cell of a table and another one each row, and the code of numbered captions stands in the text.
"""

from __future__ import annotations

import re

from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.text import read_text

_FIELD_CODE = re.compile(r" ?\bSEQ \w+ (?:\\\* ?\w+ )+")
_TABLE = re.compile(r"^.*\t\t$", re.MULTILINE)


def read_flat_word(text: str, into: DocumentBuilder) -> None:
    """Add the text's paragraphs and tables to the builder."""
    text = _FIELD_CODE.sub("", text)
    position = 0
    for table in _TABLE.finditer(text):
        read_text(text[position : table.start()], into)
        into.table([row.split("\t") for row in table[0].removesuffix("\t\t").split("\t\t")])
        position = table.end()
    read_text(text[position:], into)

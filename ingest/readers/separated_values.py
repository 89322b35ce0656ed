"""Reads tables of values separated by commas, semicolons, tabs or pipes. Only double quotes are quotes (RFC 4180)."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.decoding import Warn, decode
from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

_DELIMITERS = ",;\t|"
_DECLARED = re.compile(r'"?sep=(.)"?[ \t]*\r?\n', re.IGNORECASE)
_SAMPLE = 200  # rows from which the delimiter is found
_MAX_CELL = 2**31 - 1  # characters; the csv module refuses 131,073 unless told otherwise


def read_separated_values(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the table to the builder; its first row is its header."""
    csv.field_size_limit(_MAX_CELL)  # of the whole process, so only here, in a worker
    into.sheet([read_rows(request.data, request.path, into.warn)], sheets=0)
    return {}


def read_rows(data: bytes, path: Path, warn: Warn) -> list[list[str]]:
    """Return the rows of a file. Raises UnsupportedFormat for binary files, csv.Error for cells above the limit."""
    text = decode(data, path, warn)
    declared = _DECLARED.match(text)
    if declared:
        text = text[declared.end() :]
    return list(_rows(text, declared[1] if declared else _delimiter(text), warn))


def _delimiter(text: str) -> str:
    """Return the delimiter whose rows are most often equally wide: one that the first row has, if there is one.

    Lines above the table, as banks write them, do not count. Texts in a single column, in which commas stand at
    random, keep their column.
    """
    best, best_rank = "\0", (False, 0.0, 0, 0)
    for delimiter in _DELIMITERS:
        rows = list(islice((row for row in _reader(io.StringIO(text, newline=""), delimiter) if row), _SAMPLE))
        widths = Counter(len(row) for row in rows if len(row) > 1)
        if not widths:
            continue
        width, count = max(widths.items(), key=lambda found: (found[1], found[0]))
        first = next(at for at, row in enumerate(rows) if len(row) > 1)
        rank = (first == 0, count / (len(rows) - first), width, count)
        if first == 0 or (rank[1] > 0.9 and len(rows) / 2 < count > 1):
            best, best_rank = max((best, best_rank), (delimiter, rank), key=lambda found: found[1])
    return best


def _reader(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> CsvReader:
    """Return a reader of these lines. A quote after a blank opens a quoted cell, as many programs write it."""
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=delimiter != "\t")


def _rows(text: str, delimiter: str, warn: Warn) -> Iterator[list[str]]:
    """Yield the rows. A quote that is opened and never closed is a character of its cell, as the warning says."""
    lines = list(io.StringIO(text, newline=""))
    start = 0
    while start < len(lines):
        reader = _reader(lines[start:], delimiter)
        before = 0
        for row in reader:
            first, last = start + before, start + reader.line_num
            if last == len(lines) and last - first > 1 and _is_open(lines[first:last], delimiter):
                warn(f"Line {first + 1} opens a quote that is never closed. It was read as a character.")
                yield lines[first].rstrip("\r\n").split(delimiter)
                start = first + 1
                break
            yield row
            before = reader.line_num
        else:
            return


def _is_open(lines: list[str], delimiter: str) -> bool:
    """Return whether the row in these lines, the last of the file, ends inside quotes."""
    try:
        list(_reader(lines, delimiter, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


READER = Reader(
    name="separated_values",
    version=5,
    read=read_separated_values,
    mime_types=("text/csv", "text/tab-separated-values"),
)

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
from ingest.readers.shared.header_rows import is_figure
from vectorstore.models import Scalar

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

_DELIMITERS = ",;\t|"
_DECLARED = re.compile(r'"?sep=(.)"?[ \t]*\r?\n', re.IGNORECASE)
_ESCAPE = re.compile(r'(?<!\\)\\"(?:(?![,;|\t\r\n]|\Z)|(?=[,;|\t][^"\r\n]*[^",;|\t\s]"))')
_ESCAPED_QUOTE = re.compile(rf'(?:{_ESCAPE.pattern})(?=[^"\s])')
"""A quote inside a cell, escaped by a backslash.

Before a delimiter, the backslash is text, unless the next quote of the line ends the cell or is escaped.
"""
_SAMPLE = 200  # rows from which the delimiter is found
_MAX_CELL = 2**31 - 1  # characters; the csv module refuses 131,073 unless told otherwise


def read_separated_values(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the table to the builder; its first row is its header."""
    csv.field_size_limit(_MAX_CELL)  # of the whole process, so only here, in a worker
    rows = read_rows(request.data, request.path, into.warn)
    start = _lines_above(rows)
    into.prose("\n".join(", ".join(filter(None, row)) for row in rows[:start]))
    into.sheet([rows[start:]], sheets=0)
    return {}


def _lines_above(rows: list[list[str]]) -> int:
    """Return the number of lines above the table: titles, fields and comments, as in exports of banks and devices."""
    width, _ = max(Counter(map(len, rows)).items(), key=lambda found: (found[1], found[0]), default=(0, 0))
    first = next((at for at, row in enumerate(rows) if width > 1 and _may_begin(row, width)), 0)
    has_figure = any(map(is_figure, rows[first])) if rows else False
    before = rows[first - 1] if first else []
    has_commented_header = has_figure and len(before) > 1 and before[0].startswith("#")
    above = [list(filter(None, row)) for row in rows[: first - has_commented_header]]
    if not any(above[-1:]) or all(len(row) < 2 for row in above):  # a blank line ends them, or all are titles
        return len(above)
    are_fields = all(len(row) < 3 or row[0].startswith("#") for row in above)
    return len(above) if are_fields and (has_commented_header or not has_figure) else 0


def _may_begin(row: list[str], width: int) -> bool:
    """Return whether a table of this number of columns may begin with the row."""
    is_comment = "".join(row[:1]).startswith("#") and len(row) < width
    return not is_comment and 2 * len(row) > width


def read_rows(data: bytes, path: Path, warn: Warn) -> list[list[str]]:
    """Return the rows of a file. Raises UnsupportedFormat for binary files, csv.Error for cells above the limit."""
    text = decode(data, path, warn)
    if _ESCAPED_QUOTE.search(text):
        text = _ESCAPE.sub('""', text)
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
        read = _reader(io.StringIO(text, newline=""), delimiter)
        rows = list(islice((row for row in read if row and row[0][:1] != "#"), _SAMPLE))  # without comments
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
    name="separated_values", version=7, read=read_separated_values, mime_types=("text/csv", "text/tab-separated-values")
)

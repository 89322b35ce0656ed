"""Merges the header rows of a PDF table into one.

For example, ``Three Months Ended`` is printed once, centred above two columns, with a year above each column. The
merged header repeats it for each column, so every row can be read with the header alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ingest.readers.pdf.lines import Word, joined

Cells = Sequence[Sequence[Word]]
Columns = Sequence[tuple[float, float]]
Row = Sequence[str]

_FIGURE = re.compile(r"^[(+\-–−—]?[$€£¥₹]? ?[(+\-–−—]?\d[\d.,:  ]*%?\)?$|^[$€£¥₹]? ?[-–—]$")
_YEAR = re.compile(r"^(?:19|20)\d\d$")
_COUNTED = re.compile(r"^[$€£¥₹(]*\d")  # "11.3 years" too
_CENTRED = 0.35  # of a column's width: how far the middle of a header may be from the middle of its columns


def is_header(row: Row) -> bool:
    """Return whether a row can be a header: no cell except the first is a figure. Years are not figures."""
    return not any(_is_figure(cell) for cell in row[1:])


def header_height(rows: Sequence[Row]) -> int:
    """Return how many of the first rows are the header: at most one in a table without figures."""
    if not rows or not is_header(rows[0]):
        return 0
    if rows[0][0] or not _holds_figures(rows):
        return 1
    height = 0
    while height < len(rows) and not rows[height][0] and any(rows[height]) and is_header(rows[height]):
        height += 1
    return height + (height < len(rows) and _names_columns(rows[height]))


def _names_columns(row: Row) -> bool:
    """Return whether a row with a label belongs to the header above it, for example one with a unit and years."""
    return any(row[1:]) and is_header(row) and not any(_COUNTED.match(cell) and not _is_year(cell) for cell in row[1:])


def merge_headers(header: Sequence[Row]) -> list[str]:
    """Merge header rows: join each column's cells from top to bottom, repeated text once."""
    return [" ".join(dict.fromkeys(cell for cell in column if cell)) for column in zip(*header, strict=True)]


def repeat_spanning(cells: Cells, columns: Columns) -> list[str] | None:
    """Return a header row with each spanning header repeated for its columns, or None if no header spans columns."""
    labels = [cell for cell in cells if cell[0].x0 < columns[0][1]]
    spanning = [cell for cell in cells if cell[0].x0 >= columns[0][1]]
    if not spanning or len(spanning) >= len(columns) - 1:
        return None
    row = [" ".join(joined(cell) for cell in labels), *[""] * (len(columns) - 1)]
    below: list[list[int]] = [[] for _ in spanning]
    for index in range(1, len(columns)):
        nearest = min(range(len(spanning)), key=lambda cell: abs(_middle(columns[index]) - _middle_of(spanning[cell])))
        below[nearest].append(index)
    for cell, indices in zip(spanning, below, strict=True):
        if not _is_centred(cell, [columns[index] for index in indices]):
            return None
        for index in indices:
            row[index] = joined(cell)
    return row


def _is_figure(cell: str) -> bool:
    return bool(_FIGURE.match(cell)) and not _is_year(cell)


def _is_year(cell: str) -> bool:
    return bool(_YEAR.match(cell))


def _holds_figures(rows: Sequence[Row]) -> bool:
    """Return whether most cells except labels are figures, from the first row with a figure on."""
    first = next((index for index, row in enumerate(rows) if any(map(_is_figure, row[1:]))), len(rows))
    values = [cell for row in rows[first:] for cell in row[1:] if cell]
    return 2 * sum(map(_is_figure, values)) > len(values)


def _is_centred(cell: Sequence[Word], columns: Columns) -> bool:
    """Return whether a header is centred above the columns."""
    if not columns:
        return False
    left, right = columns[0][0], columns[-1][1]
    return abs((left + right) / 2 - _middle_of(cell)) <= _CENTRED * (right - left) / len(columns)


def _middle(column: tuple[float, float]) -> float:
    return (column[0] + column[1]) / 2


def _middle_of(cell: Sequence[Word]) -> float:
    return (cell[0].x0 + cell[-1].x1) / 2

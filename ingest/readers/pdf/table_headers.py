"""Makes one header row of the several that stand above the figures of a PDF's table.

``Three Months Ended`` stands once, in the middle above the columns of two years, and the years stand below it. Under
each column comes then what stands above it from top to bottom, so that every row can be read with the header alone.
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
_CENTRED = 0.35  # of a column's width by which the middle of a header may miss that of its columns


def is_header(row: Row) -> bool:
    """Whether a table's first row can be its header: no cell but the first is a figure, if not a year."""
    return not any(_is_figure(cell) for cell in row[1:])


def header_height(rows: Sequence[Row]) -> int:
    """How many of a table's first rows are its header; those of a table of words are never more than one."""
    if not rows or not is_header(rows[0]):
        return 0
    if rows[0][0] or not _holds_figures(rows):
        return 1
    height = 0
    while height < len(rows) and not rows[height][0] and any(rows[height]) and is_header(rows[height]):
        height += 1
    return height + (height < len(rows) and _names_columns(rows[height]))


def _names_columns(row: Row) -> bool:
    """Whether a row with a label belongs to the header above it, such as one with a unit and years."""
    return any(row[1:]) and is_header(row) and not any(_COUNTED.match(cell) and not _is_year(cell) for cell in row[1:])


def merged(header: Sequence[Row]) -> list[str]:
    """The header rows as one: each column's words from top to bottom, those of merged cells once."""
    return [" ".join(dict.fromkeys(cell for cell in column if cell)) for column in zip(*header, strict=True)]


def spread(cells: Cells, columns: Columns) -> list[str] | None:
    """A row of headers under which several columns stand, each said for all of its columns; None if it is none."""
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
    """Whether most cells beside the labels are figures, from the first row with one on."""
    first = next((index for index, row in enumerate(rows) if any(map(_is_figure, row[1:]))), len(rows))
    values = [cell for row in rows[first:] for cell in row[1:] if cell]
    return 2 * sum(map(_is_figure, values)) > len(values)


def _is_centred(cell: Sequence[Word], columns: Columns) -> bool:
    """Whether a header stands in the middle above the columns."""
    if not columns:
        return False
    left, right = columns[0][0], columns[-1][1]
    return abs((left + right) / 2 - _middle_of(cell)) <= _CENTRED * (right - left) / len(columns)


def _middle(column: tuple[float, float]) -> float:
    return (column[0] + column[1]) / 2


def _middle_of(cell: Sequence[Word]) -> float:
    return (cell[0].x0 + cell[-1].x1) / 2

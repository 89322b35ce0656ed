"""Finds the columns of a PDF table and assigns cells to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ingest.readers.pdf.lines import Line, joined, split_cells
from ingest.readers.pdf.words import Word
from ingest.readers.shared.header_rows import is_figure

Cell = Sequence[Word]
Cells = Sequence[Cell]
Columns = Sequence[tuple[float, float]]
"""Left and right edge of each column. The first column contains the row labels."""

_WHOLE = re.compile(
    r"^(?!(?:\(?\d{1,3}|\(?\d\)|(?:19|20)\d\d)$)[(+\-–−]?(?:\d{1,3}(?:[.,]\d{3})+|\d+)(?:[.,]\d+)?%?\)?$"
)
"""A figure that is not part of one: "364 364" may be one number, "3,903 3,927" and "(16) 12.5%" are two."""
_NARROW_GAPS = (0.5, 0.35)  # line heights: gaps that separate cells if the result matches the columns
_WIDER = 1.25  # minimum ratio of the gaps between cells to the gaps between words
_APART = 1.0  # line heights: minimum space between a column and a cell outside all columns


def find_columns(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """Return the left and right edge of each column.

    The lowest line with the most cells defines the columns. A cell of another line that overlaps exactly one column
    widens it. Figures outside all columns form a column of their own, which is empty in most rows.
    """
    by_cells = sorted(lines, key=lambda line: (-len(line.cells), line.bottom))
    columns = [(cell[0].x0, cell[-1].x1) for cell in by_cells[0].cells]
    for line in by_cells:
        for cell in line.cells[1:]:
            if _is_between(cell, line, columns):
                columns = sorted([*columns, extent(cell)])
    for line in by_cells:
        for cell in line.cells:
            indexes = overlapped(cell, columns)
            if len(indexes) == 1:
                left, right = columns[indexes[0]]
                columns[indexes[0]] = (min(left, cell[0].x0), max(right, cell[-1].x1))
    for line in by_cells:
        for cell in line.cells[1:]:
            if is_figure(joined(cell)) and _is_apart(cell, columns):
                columns = sorted([*columns, extent(cell)])
    labels = [extent(line.cells[0]) for line in lines if _is_apart(line.cells[0], columns)]
    labels = [label for label in labels if label[1] < columns[0][0]]
    if len(labels) > 1:  # the line with the most cells has no label
        columns.insert(0, (min(left for left, _ in labels), max(right for _, right in labels)))
    return columns


def _is_between(cell: Cell, line: Line, columns: Columns) -> bool:
    """Return whether the cell is a figure outside all columns, and the nearest column has another cell of the line."""
    if overlapped(cell, columns) or not any(map(str.isdigit, text := joined(cell))) or not is_figure(text):
        return False
    own = [nearest(cell, columns)]
    return any(overlapped(other, columns) == own for other in line.cells[1:])


def _is_apart(cell: Cell, columns: Columns) -> bool:
    """Return whether the cell is far from all columns."""
    left, right = extent(cell)
    space = min(max(start - right, left - end) for start, end in columns)
    return space > _APART * (cell[0].top - cell[0].bottom)


def overlapped(cell: Cell, columns: Columns) -> list[int]:
    """Return the indexes of the columns that the cell overlaps."""
    left, right = cell[0].x0, cell[-1].x1
    return [index for index, (start, end) in enumerate(columns) if left < end and start < right]


def nearest(cell: Cell, columns: Columns) -> int:
    """Return the index of the column whose centre is nearest to the centre of the cell."""
    return min(range(len(columns)), key=lambda index: abs(middle(columns[index]) - middle(extent(cell))))


def extent(cell: Cell) -> tuple[float, float]:
    """Return the left and right edge of the cell."""
    return cell[0].x0, cell[-1].x1


def middle(column: tuple[float, float]) -> float:
    """Return the centre of a column or another extent."""
    return (column[0] + column[1]) / 2


def cells_in(line: Line, columns: Columns) -> Cells:
    """Return the cells of the line. Splits at narrower gaps if this yields exactly one cell per column."""
    return split_at_narrow_gaps(line, columns, columns) or line.cells


def split_at_narrow_gaps(line: Line, columns: Columns, wanted: Columns) -> Cells | None:
    """Return exactly one cell per wanted column, or None if no gap width yields this."""
    if len(line.cells) >= len(wanted):
        return None
    for wide in _NARROW_GAPS:
        cells = split_cells(line.words, wide)
        if (
            len(cells) == len(wanted)
            and _is_wider(cells)
            and all(
                columns.index(column) in overlapped(cell, columns) for column, cell in zip(wanted, cells, strict=True)
            )
        ):
            return cells
    return None


def _is_wider(cells: Cells) -> bool:
    """Return whether the gaps between cells are wider than the gaps between words within cells."""
    inside = [after.x0 - word.x1 for cell in cells for word, after in pairwise(cell)]
    between = [after[0].x0 - cell[-1].x1 for cell, after in pairwise(cells)]
    return min(between, default=0.0) > _WIDER * max(inside, default=0.0)


def split_figures(line: Line) -> Line:
    """Return the line with a cell for each figure. Figures that cannot be one number are split at any gap."""
    cells = tuple(part for cell in line.cells for part in _figures(cell))
    return line if len(cells) == len(line.cells) else replace(line, cells=cells, boxes=(None,) * len(cells))


def _figures(cell: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    start = 0
    for at, (last, word) in enumerate(pairwise(cell), start=1):
        is_second = not word.text[0].isdigit() and word.text[0] != last.text[0]  # "12.4 (3.1)" or "2.13% –3.50%"
        if _WHOLE.match(last.text) and _WHOLE.match(word.text) and not is_second:
            yield cell[start:at]
            start = at
    yield cell[start:]


def row_of(cells: Cells, columns: Columns) -> list[str]:
    """Return the text of each column. Assigns cells by order if the counts and places match, otherwise by position."""
    if len(cells) == len(columns) and all(
        at in (places := overlapped(cell, columns)) or not places for at, cell in enumerate(cells)
    ):
        return [joined(cell) for cell in cells]
    row = [""] * len(columns)
    for cell in cells:
        column = _most_overlapped(cell, columns)
        row[column] = f"{row[column]} {joined(cell)}".strip()
    return row


def _most_overlapped(cell: Cell, columns: Columns) -> int:
    """Return the index of the column that overlaps the cell most, or of the nearest column if none does."""
    left, right = extent(cell)
    indexes = overlapped(cell, columns) or [nearest(cell, columns)]
    return max(indexes, key=lambda index: min(right, columns[index][1]) - max(left, columns[index][0]))

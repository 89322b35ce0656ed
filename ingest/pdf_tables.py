"""Finds the tables among the lines of a PDF: rows by their cells, columns by what stands below each other.

A table is found by lines that fall into cells; then lines beside it join whose words fit its columns: headers set
tightly, and the second lines of cells that were wrapped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ingest.pdf_lines import Line, Word, cells_of, joined

Cells = Sequence[Sequence[Word]]
Columns = list[tuple[float, float]]

_ROWS = 3
_ROWS_OF_MANY_CELLS = 2
_TIGHT_GAPS = (0.5, 0.35)  # in line heights: between cells that the columns of the other rows tell apart
_ROW_GAP = 1.3  # times the gap between rows: lines further away are not part of the table
_WRAPPED_GAP = 0.75  # times the gap between rows: lines closer than this are one row
_BORDER = 2  # points by which the borders of neighbouring cells may differ
_FIGURE = re.compile(r"^[(+\-–−—]?[$€£¥₹]? ?[(+\-–−—]?\d[\d.,:  ]*%?\)?$")


@dataclass(frozen=True, slots=True)
class PageTable:
    """The table in lines [start, end), all of one page."""

    start: int
    end: int
    rows: tuple[tuple[str, ...], ...]
    has_header: bool


def find_tables(lines: Sequence[Line]) -> list[PageTable]:
    """The tables in reading order; they do not overlap."""
    tables: list[PageTable] = []
    position = 0
    while position < len(lines):
        end = _core_end(lines, position)
        if end == position:
            position += 1
            continue
        first = tables[-1].end if tables else 0
        tables.append(_table(lines, *_extended(lines, position, end, first)))
        position = tables[-1].end
    return tables


def _core_end(lines: Sequence[Line], start: int) -> int:
    """Where the lines with cells that begin at ``start`` end; ``start`` if they are too few for a table."""
    end = start
    while end < len(lines) and lines[end].page == lines[start].page and _is_row(lines, end, start):
        end += 1
    core = lines[start:end]
    many_cells = max((len(line.cells) for line in core), default=0) > 2
    enough = _ROWS_OF_MANY_CELLS if many_cells else _ROWS
    return end if sum(len(line.cells) > 1 for line in core) >= enough else start


def _is_row(lines: Sequence[Line], index: int, start: int) -> bool:
    """Whether a line is a row: it has cells, or it stands between such rows and fits into their first column."""
    line = lines[index]
    if len(line.cells) > 1:
        return True
    if index == start or index + 1 == len(lines) or len(lines[index - 1].cells) < 2:
        return False
    before, after = lines[index - 1], lines[index + 1]
    if len(after.cells) < 2 or after.page != line.page:
        return False
    return line.words[-1].x1 < min(before.cells[1][0].x0, after.cells[1][0].x0)


def _extended(lines: Sequence[Line], start: int, end: int, first: int) -> tuple[int, int]:
    """The table with the lines above and below that fit its columns, not reaching above line ``first``."""
    page = lines[start].page
    columns = _columns(lines[start:end])
    reach = _ROW_GAP * max([_gap(above, below) for above, below in pairwise(lines[start:end])] + [0.3])
    top = start
    while top > first and lines[top - 1].page == page and _joins_above(lines, top, end, columns, reach):
        top -= 1
        if len(_cells(lines[top], columns)) > 1:
            start = top
    while end < len(lines) and lines[end].page == page and _joins_below(lines, start, end, columns, reach):
        end += 1
    return start, end


def _joins_above(lines: Sequence[Line], top: int, end: int, columns: Columns, reach: float) -> bool:
    """Whether the line above fits; parts of wrapped rows count only if a row with cells stands above them."""
    line = lines[top - 1]
    if not _near(line, lines[top:end], reach):
        return False
    return len(_cells(line, columns)) > 1 or _column_of(line, columns) >= 0


def _joins_below(lines: Sequence[Line], start: int, index: int, columns: Columns, reach: float) -> bool:
    line = lines[index]
    if not _near(line, lines[start:index], reach):
        return False
    return len(_cells(line, columns)) > 1 or _column_of(line, columns) > 0


def _near(line: Line, table: Sequence[Line], reach: float) -> bool:
    """Whether the line is close to one of the table's, or in the ruled row above or below one."""
    if min(_gap(line, other) for other in table) <= reach:
        return True
    edges = [edge for other in table if other.band for edge in other.band]
    return line.band is not None and any(abs(edge - own) <= _BORDER for edge in edges for own in line.band)


def _gap(one: Line, other: Line) -> float:
    """The space between two lines in line heights; 0 where they stand beside each other."""
    space = max(one.bottom - other.top, other.bottom - one.top, 0.0)
    return space / max(one.height, other.height, 1.0)


def _column_of(line: Line, columns: Columns) -> int:
    """The column that the whole line stands in, before the next one begins; -1 if it stands in none."""
    slack = line.height / 2
    left, right = line.words[0].x0, line.words[-1].x1
    limits = [start for start, _ in columns[1:]] + [float("inf")]
    for index, ((start, _), limit) in enumerate(zip(columns, limits, strict=True)):
        if start - slack <= left and right <= limit:
            return index
    return -1


def _columns(lines: Sequence[Line]) -> Columns:
    """The columns' extents, from the line with most cells, widened by the cells that fit one column alone."""
    widest = max(lines, key=lambda line: len(line.cells))
    columns = [(cell[0].x0, cell[-1].x1) for cell in widest.cells]
    for line in lines:
        for cell in line.cells:
            touched = _touched(cell, columns)
            if len(touched) == 1:
                left, right = columns[touched[0]]
                columns[touched[0]] = (min(left, cell[0].x0), max(right, cell[-1].x1))
    return columns


def _touched(cell: Sequence[Word], columns: Columns) -> list[int]:
    left, right = cell[0].x0, cell[-1].x1
    return [index for index, (start, end) in enumerate(columns) if left < end and start < right]


def _cells(line: Line, columns: Columns) -> Cells:
    """The line's cells; divided at narrower gaps if that gives just one cell for every column."""
    if len(line.cells) >= len(columns):
        return line.cells
    for gap in _TIGHT_GAPS:
        cells = cells_of(line.words, gap)
        if len(cells) == len(columns) and all(index in _touched(cell, columns) for index, cell in enumerate(cells)):
            return cells
    return line.cells


def _table(lines: Sequence[Line], start: int, end: int) -> PageTable:
    table = lines[start:end]
    columns = _columns(table)
    cells = [_cells(line, columns) for line in table]
    rows = _rows(table, [_row(line_cells, columns) for line_cells in cells])
    return PageTable(start, end, rows, has_header=not any(_FIGURE.match(cell) for cell in rows[0][1:]))


def _row(cells: Cells, columns: Columns) -> list[str]:
    """The cells under their columns: one each if there are as many, else by where they stand."""
    if len(cells) == len(columns):
        return [joined(cell) for cell in cells]
    row = [""] * len(columns)
    for cell in cells:
        column = (_touched(cell, columns) or [_nearest(cell, columns)])[0]
        row[column] = f"{row[column]} {joined(cell)}".strip()
    return row


def _nearest(cell: Sequence[Word], columns: Columns) -> int:
    middle = (cell[0].x0 + cell[-1].x1) / 2
    return min(range(len(columns)), key=lambda index: abs(sum(columns[index]) / 2 - middle))


def _rows(lines: Sequence[Line], rows: Sequence[list[str]]) -> tuple[tuple[str, ...], ...]:
    """The rows, with the lines of wrapped cells in the row that they belong to."""
    starts = [line for line, row in zip(lines, rows, strict=True) if row[0]]
    pitch = median([_gap(above, below) for above, below in pairwise(starts)] or [0.0])
    ruled = {band for band, count in Counter(line.band for line in starts).items() if band and count == 1}
    merged: list[list[str]] = []
    members: list[Line] = []
    for line, row in zip(lines, rows, strict=True):
        near = min((_gap(member, line) for member in members), default=pitch)
        same_band = bool(members) and line.band in ruled and line.band == members[-1].band
        if same_band or (not row[0] and members and line.band not in ruled and near < _WRAPPED_GAP * pitch):
            merged[-1] = [_unwrapped(above, below) for above, below in zip(merged[-1], row, strict=True)]
            members.append(line)
        else:
            merged.append(row)
            members = [line]
    return tuple(tuple(row) for row in merged)


def _unwrapped(above: str, below: str) -> str:
    """Two lines of a cell as one; a word broken between them is whole again, since a cell has no line ends."""
    if above.endswith("-") and below[:1].islower():
        return above[:-1] + below
    return f"{above} {below}".strip()

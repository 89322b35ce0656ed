"""Finds the tables among the lines of a PDF: rows by their cells, columns by their alignment.

The core of a table is lines that split into cells. Adjacent lines with words that fit its columns join it: headers with
narrow gaps, and the second lines of wrapped cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ingest.readers.pdf.grids import Grid, find_grid
from ingest.readers.pdf.lines import Line, Word, joined, split_cells
from ingest.readers.pdf.rows import gap, join_rows
from ingest.readers.pdf.table_headers import (
    Cells,
    Columns,
    header_height,
    is_header,
    merge_headers,
    repeat_spanning,
)

_ROWS = 3
_ROWS_OF_MANY_CELLS = 2
_LABELS = 4  # lines only in the first column, such as "Assets" and "Current assets:", that do not end a table
_LABEL_GAP = 2.0  # in line heights: between several of them
_HEADER_GAP = 1.0  # in line heights: lines this close above the columns are their headers
_LARGER = 1.3  # times the type size of a table's lines: a heading
_OVERHANG = 2.5  # in line heights: how much wider than its columns a header may be
_NARROW_GAPS = (0.5, 0.35)  # in line heights: gaps that separate cells if the result matches the table's columns
_ROW_GAP = 1.3  # times the gap between rows: lines further away are not part of the table
_SAME_ROW = 0.6  # share of their height in which lines of one row overlap
_BORDER = 2  # points by which the borders of neighbouring cells may differ


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table in lines [start, end) of one page."""

    start: int
    end: int
    rows: tuple[tuple[str, ...], ...]
    has_header: bool


def find_tables(lines: Sequence[Line]) -> list[PageTable]:
    """Return the tables in reading order. They do not overlap."""
    tables: list[PageTable] = []
    position = 0
    while position < len(lines):
        grid = find_grid(lines, position)
        if grid is not None:
            tables.append(_framed_table(grid))
            position = grid.end
            continue
        end = _core_end(lines, position)
        if end == position:
            position += 1
            continue
        first = tables[-1].end if tables else 0
        tables.append(_table(lines, *_extend(lines, position, end, first)))
        position = tables[-1].end
    return tables


def _framed_table(grid: Grid) -> PageTable:
    height = grid.header_rows if is_header(grid.rows[0]) else 0
    header = [tuple(merge_headers(grid.rows[:height]))] if height else []
    return PageTable(grid.start, grid.end, (*header, *grid.rows[height:]), has_header=height > 0)


def _core_end(lines: Sequence[Line], start: int) -> int:
    """Return the end of the lines with cells from ``start`` on, or ``start`` if they are too few for a table."""
    end = start
    while end < len(lines) and lines[end].page == lines[start].page and _is_row(lines, end, start):
        end += 1
    core = lines[start:end]
    many_cells = max((len(line.cells) for line in core), default=0) > 2
    enough = _ROWS_OF_MANY_CELLS if many_cells else _ROWS
    return end if sum(len(line.cells) > 1 for line in core) >= enough else start


def _is_row(lines: Sequence[Line], index: int, start: int) -> bool:
    """Return whether a line is a row: it has cells, or is in the first column between rows with cells."""
    if not _same_size(lines[index], lines[start]):
        return False
    if len(lines[index].cells) > 1:
        return True
    if index > start and _is_unit(lines, index, start):
        return True
    before = next((at for at in range(index, start - 1, -1) if len(lines[at].cells) > 1), None)
    after = next((at for at in range(index, len(lines)) if len(lines[at].cells) > 1), None)
    if before is None or after is None or lines[after].page != lines[index].page:
        return False
    if lines[index].words[-1].x1 >= min(lines[at].cells[1][0].x0 for at in (before, after)):
        return False
    return after - before == 2 or _continues_after_labels(lines[before : after + 1])


def _is_unit(lines: Sequence[Line], index: int, start: int) -> bool:
    """Return whether a line is below the rows of a header, for example a unit for all columns."""
    header = lines[start:index]
    if len(header) < _ROWS_OF_MANY_CELLS or any(len(line.cells) < 2 or _has_figures(line) for line in header):
        return False
    in_columns = lines[index].words[0].x0 >= max(line.cells[0][-1].x1 for line in header)
    return in_columns and gap(header[-1], lines[index]) < _HEADER_GAP


def _has_figures(line: Line) -> bool:
    return not is_header([joined(cell) for cell in line.cells])


def _same_size(one: Line, other: Line) -> bool:
    """Return whether two lines have a similar type size. A heading above a table is larger."""
    return max(one.size, other.size) < _LARGER * min(one.size, other.size)


def _continues_after_labels(lines: Sequence[Line]) -> bool:
    """Return whether a table continues after several lines of labels. A row without figures begins another table."""
    closely = len(lines) <= _LABELS + 2 and all(gap(*pair) < _LABEL_GAP for pair in pairwise(lines))
    return closely and _has_figures(lines[-1])


def _extend(lines: Sequence[Line], start: int, end: int, first: int) -> tuple[int, int]:
    """Extend the table by lines above and below that fit its columns, but not above line ``first``."""
    page = lines[start].page
    columns = _columns(lines[start:end])
    reach = _ROW_GAP * max([gap(above, below) for above, below in pairwise(lines[start:end])] + [0.3])
    top = start
    while top > first and lines[top - 1].page == page and _joins_above(lines, top, end, columns, reach):
        top -= 1
        if len(_cells(lines[top], columns)) > 1 or _is_above(lines[top], columns):
            start = top
    while end < len(lines) and lines[end].page == page and _joins_below(lines, start, end, columns, reach):
        end += 1
    return start, end


def _joins_above(lines: Sequence[Line], top: int, end: int, columns: Columns, reach: float) -> bool:
    """Return whether the line above fits. Parts of wrapped rows count only if a row with cells is above them."""
    line = lines[top - 1]
    if not _same_size(line, lines[top]):
        return False
    if _is_above(line, columns):
        return _near(line, lines[top:end], max(reach, _HEADER_GAP))
    fits = len(_cells(line, columns)) > 1 or _column_of(line, columns) >= 0
    return fits and _near(line, lines[top:end], reach)


def _is_above(line: Line, columns: Columns) -> bool:
    """Return whether the line is above columns other than the first, like a header."""
    left, right = line.words[0].x0, line.words[-1].x1
    overhang = _OVERHANG * line.height
    leftmost = max(columns[0][0] + line.height, columns[1][0] - overhang)
    reaches_over = leftmost <= left and right <= columns[-1][1] + overhang
    return reaches_over and columns[1][0] <= (left + right) / 2 <= columns[-1][1]


def _joins_below(lines: Sequence[Line], start: int, index: int, columns: Columns, reach: float) -> bool:
    line = lines[index]
    if not _near(line, lines[start:index], reach):
        return False
    return len(_cells(line, columns)) > 1 or _column_of(line, columns) > 0


def _near(line: Line, table: Sequence[Line], reach: float) -> bool:
    """Return whether the line is close to a line of the table, or in the ruled row above or below one."""
    if min(gap(line, other) for other in table) <= reach:
        return True
    edges = [edge for other in table if other.band for edge in other.band]
    return line.band is not None and any(abs(edge - own) <= _BORDER for edge in edges for own in line.band)


def _column_of(line: Line, columns: Columns) -> int:
    """Return the index of the column that contains the whole line, or -1."""
    slack = line.height / 2
    left, right = line.words[0].x0, line.words[-1].x1
    limits = [start for start, _ in columns[1:]] + [float("inf")]
    for index, ((start, _), limit) in enumerate(zip(columns, limits, strict=True)):
        if start - slack <= left and right <= limit:
            return index
    return -1


def _columns(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """Return each column's left and right end: those of the lowest line with most cells.

    Cells of other lines that fit exactly one column widen it.
    """
    by_cells = sorted(lines, key=lambda line: (-len(line.cells), line.bottom))
    columns = [(cell[0].x0, cell[-1].x1) for cell in by_cells[0].cells]
    for line in by_cells:
        for cell in line.cells:
            indexes = _overlapped(cell, columns)
            if len(indexes) == 1:
                left, right = columns[indexes[0]]
                columns[indexes[0]] = (min(left, cell[0].x0), max(right, cell[-1].x1))
    return columns


def _overlapped(cell: Sequence[Word], columns: Columns) -> list[int]:
    left, right = cell[0].x0, cell[-1].x1
    return [index for index, (start, end) in enumerate(columns) if left < end and start < right]


def _cells(line: Line, columns: Columns) -> Cells:
    """Return the line's cells, split at narrower gaps if that gives exactly one cell per column."""
    return _split_at_narrow_gaps(line, columns, columns) or line.cells


def _header_cells(line: Line, columns: Columns) -> Cells:
    """Return the cells of a header line, split at narrower gaps if each cell then has its own column."""
    return _split_at_narrow_gaps(line, columns, columns[1:]) or _cells(line, columns)


def _split_at_narrow_gaps(line: Line, columns: Columns, wanted: Columns) -> Cells | None:
    """Split the line into exactly one cell per wanted column. Return None if no gap width gives that."""
    if len(line.cells) >= len(wanted):
        return None
    for wide in _NARROW_GAPS:
        cells = split_cells(line.words, wide)
        if len(cells) == len(wanted) and all(
            columns.index(column) in _overlapped(cell, columns) for column, cell in zip(wanted, cells, strict=True)
        ):
            return cells
    return None


def _table(lines: Sequence[Line], start: int, end: int) -> PageTable:
    table = _join_lines(lines[start:end])
    columns = _columns(table)
    cells = [_cells(line, columns) for line in table]
    plain = [_row(line_cells, columns) for line_cells in cells]
    height = header_height(plain)
    limit = columns[0][1]
    if height > 1:
        header = [_header_row(_header_cells(line, columns), columns) for line in table[:height]]
        body = join_rows(table[height:], plain[height:], limit)
        return PageTable(start, end, (tuple(merge_headers(header)), *body), has_header=True)
    return PageTable(start, end, join_rows(table, plain, limit), has_header=height == 1)


def _header_row(cells: Cells, columns: Columns) -> list[str]:
    return repeat_spanning(cells, columns) or _row(cells, columns)


def _join_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the lines from top to bottom. Lines next to each other are joined: headers may be one line per cell."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: -line.bottom):
        if rows and _overlap(rows[-1][0], line) > _SAME_ROW * min(rows[-1][0].height, line.height):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [_joined_line(row) for row in rows]


def _overlap(one: Line, other: Line) -> float:
    return min(one.top, other.top) - max(one.bottom, other.bottom)


def _joined_line(row: Sequence[Line]) -> Line:
    if len(row) == 1:
        return row[0]
    cells = sorted((cell for line in row for cell in line.cells), key=lambda cell: cell[0].x0)
    words = tuple(word for cell in cells for word in cell)
    return replace(row[0], words=words, cells=tuple(cells), boxes=(None,) * len(cells))


def _row(cells: Cells, columns: Columns) -> list[str]:
    """Return the text of each column: cell by cell if there are as many, otherwise by position."""
    if len(cells) == len(columns):
        return [joined(cell) for cell in cells]
    row = [""] * len(columns)
    for cell in cells:
        column = _most_overlapped(cell, columns)
        row[column] = f"{row[column]} {joined(cell)}".strip()
    return row


def _most_overlapped(cell: Sequence[Word], columns: Columns) -> int:
    """Return the index of the column with the largest overlap with the cell, or of the nearest."""
    left, right = cell[0].x0, cell[-1].x1
    indexes = _overlapped(cell, columns) or [_nearest(cell, columns)]
    return max(indexes, key=lambda index: min(right, columns[index][1]) - max(left, columns[index][0]))


def _nearest(cell: Sequence[Word], columns: Columns) -> int:
    middle = (cell[0].x0 + cell[-1].x1) / 2
    return min(range(len(columns)), key=lambda index: abs(sum(columns[index]) / 2 - middle))

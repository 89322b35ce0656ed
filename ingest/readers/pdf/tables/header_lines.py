"""Finds the header lines above the rows of a table: column heads, and the labels beside or between them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from ingest.readers.pdf.lines import Line, joined
from ingest.readers.pdf.tables.columns import Cell, Columns, extent, middle
from ingest.readers.pdf.tables.rows import near, overlap
from ingest.readers.pdf.tables.spanning import head_cells, is_stacked
from ingest.readers.shared.header_rows import is_figure

_LARGER = 1.3  # ratio to the type size of the rows from which a line is a heading
_SMALLER = 1.6  # ratio of the type size of the rows to that of a line from which the line is too small for a head
_REACH = 1.6  # line heights: maximum space between header lines, and between header and rows
_LINE_GAP = 0.45  # line heights: maximum space between two lines of one head
_OVERHANG = 2.5  # line heights: how far a head may extend beyond the columns
_INDENT = 1.5  # line heights: maximum indent of a label
_MOST_LINES = 10  # a taller block above the rows is text, not a header


class _Role(Enum):
    HEAD = auto()
    FIGURE = auto()
    """A figure above a column, such as the day of a date. It belongs to a head only if it is close to one."""
    LABEL = auto()
    OTHER = auto()


def header_start(lines: Sequence[Line], start: int, first: int, columns: Columns) -> int:
    """Return the first line of the header above the rows at ``start``, at the earliest line ``first``.

    A label belongs to the header only if it is beside or below a head. Otherwise, it is a title.
    """
    above: list[tuple[int, Line, _Role]] = []
    for index in range(start - 1, first - 1, -1):
        line = lines[index]
        if line.page != lines[start].page or not fits_size(line, lines[start]):
            break
        role = _role(line, columns)
        if role is _Role.OTHER and any(
            kind is _Role.HEAD and is_stacked(line.words, other.words) for _, other, kind in above
        ):
            role = _Role.HEAD
        if role is _Role.OTHER:
            break
        above.append((index, line, role))
    connected = _connected([line for _, line, _ in above], lines[start])
    heads: list[Line] = []
    found = start
    for index, line, role in above:
        if line not in connected:
            break
        if role is _Role.FIGURE and not near(line, heads[-1:] or [lines[start]], _LINE_GAP if heads else -1.0):
            break
        if role in (_Role.HEAD, _Role.FIGURE):
            beside = [other for _, other, _ in above if other is not line and overlap(line, other) > 0]
            if not beside and _is_title(line, [*heads, lines[start]], columns):
                break
            heads.append(line)
            found = index
        elif heads and line.bottom < max(head.top for head in heads):
            found = index
        elif heads and not any(overlap(line, other) > 0 for _, other, kind in above if kind is _Role.HEAD):
            break  # a title: the lines above it are titles too
    return found if _height(heads) <= _MOST_LINES else start


def framed_heads(lines: Sequence[Line], start: int, end: int, columns: Columns) -> set[int]:
    """Return the lines above the rows [start, end) in frames of the same drawing, if they are stored elsewhere."""
    row = lines[start]
    drawings = {box.drawing for box in row.boxes if box}
    above = [
        (at, line)
        for at, line in enumerate(lines)
        if not start <= at < end
        and line.bottom > row.top - row.height / 2
        and all(box and box.drawing in drawings for box in line.boxes)
        and fits_size(line, row)
    ]
    connected = [id(line) for line in _connected([line for _, line in above], row)]
    found = {at for at, line in above if id(line) in connected}
    return found if len(columns) > 1 and found != set(range(start - len(found), start)) else set()


def _is_title(line: Line, below: Sequence[Line], columns: Columns) -> bool:
    """Return whether the line is centred above the whole table, including labels, and separate from the heads below."""
    if len(line.cells) > 1 or line.underlines or near(line, below, _LINE_GAP):
        return False
    centre = middle(extent(line.words))
    from_table = abs(centre - middle((columns[0][0], columns[-1][1])))
    return from_table < line.height and from_table < abs(centre - middle((columns[1][0], columns[-1][1])))


def _connected(lines: Sequence[Line], row: Line) -> list[Line]:
    """Return the lines that connect to the row without a wide space.

    The lines are not always in vertical order, because PDFs may store multi-line heads column by column.
    """
    connected = [row]
    for line in sorted(lines, key=lambda line: line.bottom):
        if near(line, connected, _REACH):
            connected.append(line)
    return connected


def fits_size(line: Line, row: Line) -> bool:
    """Return whether the type size of the line fits the row. Heads and labels are often smaller than the row."""
    return row.size / _SMALLER < line.size < row.size * _LARGER


def _height(heads: Sequence[Line]) -> float:
    """Return the total height of the heads in line heights."""
    if not heads:
        return 0
    tallest = max(line.height for line in heads)
    return (max(line.top for line in heads) - min(line.bottom for line in heads)) / max(tallest, 1.0)


def _role(line: Line, columns: Columns) -> _Role:
    """Return the role of the line in a header. Heads contain no figures and are above the columns, not beside them."""
    cells = head_cells(line, columns)
    heads = [cell for cell in cells if not _is_beside(cell, columns)]
    if not heads or _is_long_label(cells, columns):
        return _Role.LABEL
    above = all(_is_above(cell, columns) for cell in heads) and len(cells) - len(heads) <= 1
    if above and not any(is_figure(joined(cell)) for cell in heads):
        return _Role.HEAD
    return _Role.FIGURE if above and len(cells) == 1 else _Role.OTHER


def _is_long_label(cells: Sequence[Cell], columns: Columns) -> bool:
    """Return whether the cells are one label that extends over the first value column. Running text extends further."""
    left, right = extent(cells[0])
    height = cells[0][0].top - cells[0][0].bottom
    begins_left = abs(left - columns[0][0]) <= _INDENT * height
    return len(cells) == 1 and begins_left and right < columns[min(2, len(columns) - 1)][0]


def _is_beside(cell: Cell, columns: Columns) -> bool:
    """Return whether the cell is in the label column."""
    left, right = extent(cell)
    return right <= columns[1][0] and left < max(columns[0][1], (columns[0][0] + columns[1][0]) / 2)


def _is_above(cell: Cell, columns: Columns) -> bool:
    """Return whether the cell is above the value columns, or centred above the first or last of them."""
    left, right = extent(cell)
    height = cell[0].top - cell[0].bottom
    if left <= columns[0][0] + height:
        return False
    if columns[1][0] - _OVERHANG * height <= left and right <= columns[-1][1] + _OVERHANG * height:
        return True
    if len(cell) == 1 and left > columns[0][1] and abs(right - columns[1][1]) <= height / 2:
        return True  # one word that ends with the column may be much wider than its figures
    return any(abs(middle((left, right)) - middle(column)) <= height for column in (columns[1], columns[-1]))

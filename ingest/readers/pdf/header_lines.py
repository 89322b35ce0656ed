"""Finds the lines of a table's header above its rows: heads above the columns, and the label beside or between them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from ingest.readers.pdf.columns import Cell, Columns, extent, middle
from ingest.readers.pdf.lines import Line, joined
from ingest.readers.pdf.rows import near, overlap
from ingest.readers.pdf.spanning import head_cells
from ingest.readers.pdf.table_headers import is_figure

_LARGER = 1.3  # times the type size of a table's rows: a heading
_SMALLER = 1.6  # heads are often in smaller type than the rows, but not this much smaller
_REACH = 1.6  # in line heights: the space between two lines of a header, or between header and rows
_LINE_GAP = 0.45  # in line heights: between two lines of one head
_OVERHANG = 2.5  # in line heights: how much wider than the columns a head may be
_INDENT = 1.5  # in line heights: between labels
_MOST_LINES = 10  # a header with more lines, one above the other, is text


class _Role(Enum):
    HEAD = auto()
    FIGURE = auto()
    """A figure above a column. It is part of a head if it is close to one, such as the day of a date."""
    LABEL = auto()
    OTHER = auto()


def header_start(lines: Sequence[Line], start: int, first: int, columns: Columns) -> int:
    """Return where the header begins whose rows begin at ``start``, but not before line ``first``.

    Lines above the labels belong to it only if they are beside or below a head: others are a title.
    """
    above: list[tuple[int, Line, _Role]] = []
    for index in range(start - 1, first - 1, -1):
        line = lines[index]
        if line.page != lines[start].page or not fits_size(line, lines[start]):
            break
        if (role := _role(line, columns)) is _Role.OTHER:
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
            break  # a title: above it are the titles of the page
    return found if _height(heads) <= _MOST_LINES else start


def _is_title(line: Line, below: Sequence[Line], columns: Columns) -> bool:
    """Return whether a line is centred above the whole table, labels included, and apart from the heads below."""
    if len(line.cells) > 1 or line.underlines or near(line, below, _LINE_GAP):
        return False
    centre = middle(extent(line.words))
    from_table = abs(centre - middle((columns[0][0], columns[-1][1])))
    return from_table < line.height and from_table < abs(centre - middle((columns[1][0], columns[-1][1])))


def _connected(lines: Sequence[Line], row: Line) -> list[Line]:
    """Return the lines without wide spaces down to the row. Heads of several lines may come column by column."""
    connected = [row]
    for line in sorted(lines, key=lambda line: line.bottom):
        if near(line, connected, _REACH):
            connected.append(line)
    return connected


def fits_size(line: Line, row: Line) -> bool:
    """Return whether a line is in the type size of a row, or in smaller type, as heads and labels often are."""
    return row.size / _SMALLER < line.size < row.size * _LARGER


def _height(heads: Sequence[Line]) -> float:
    """Return the height of the heads in lines."""
    if not heads:
        return 0
    tallest = max(line.height for line in heads)
    return (max(line.top for line in heads) - min(line.bottom for line in heads)) / max(tallest, 1.0)


def _role(line: Line, columns: Columns) -> _Role:
    """Return what a line is in a header. Heads hold no figures and are above the columns, not beside them."""
    cells = head_cells(line, columns)
    heads = [cell for cell in cells if not _is_beside(cell, columns)]
    if not heads or _is_long_label(cells, columns):
        return _Role.LABEL
    above = all(_is_above(cell, columns) for cell in heads) and len(cells) - len(heads) <= 1
    if above and not any(is_figure(joined(cell)) for cell in heads):
        return _Role.HEAD
    return _Role.FIGURE if above and len(cells) == 1 else _Role.OTHER


def _is_long_label(cells: Sequence[Cell], columns: Columns) -> bool:
    """Return whether a line is a label that reaches over the first column. A line of text would reach further."""
    left, right = extent(cells[0])
    height = cells[0][0].top - cells[0][0].bottom
    begins_left = abs(left - columns[0][0]) <= _INDENT * height
    return len(cells) == 1 and begins_left and right < columns[min(2, len(columns) - 1)][0]


def _is_beside(cell: Cell, columns: Columns) -> bool:
    """Return whether a cell is in the column of the labels."""
    left, right = extent(cell)
    return right <= columns[1][0] and left < max(columns[0][1], (columns[0][0] + columns[1][0]) / 2)


def _is_above(cell: Cell, columns: Columns) -> bool:
    """Return whether a cell is above the columns, or centred above the last or the first of them."""
    left, right = extent(cell)
    height = cell[0].top - cell[0].bottom
    if left <= columns[0][0] + height:
        return False
    if columns[1][0] - _OVERHANG * height <= left and right <= columns[-1][1] + _OVERHANG * height:
        return True
    return any(abs(middle((left, right)) - middle(column)) <= height for column in (columns[1], columns[-1]))

"""Assigns the heads of a PDF table to its columns. A head above several columns is repeated in each of them.

Three signs show which columns a head spans: repeated heads below it (``Q1 Q2 Q1 Q2``), the line drawn below it, and its
alignment with the columns. They apply in this order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ingest.readers.pdf.drawing import Extent
from ingest.readers.pdf.lines import Line, joined, split_cells
from ingest.readers.pdf.tables.columns import (
    Cell,
    Cells,
    Columns,
    extent,
    middle,
    nearest,
    overlapped,
    split_at_narrow_gaps,
)

_LINE_GAP = 0.45  # line heights: maximum space between two lines of one head
_STACKED = 0.3  # line heights: maximum offset between an edge or the centre of such lines
_CENTRED = 0.35  # share of a column's width: maximum distance between the centres of a head and its columns
_ALIGNED = 0.8  # line heights: maximum offset between an edge or the centre of a head and of its only column
_SPLIT_GAP = 0.3  # line heights: minimum gap between the heads of adjacent columns
_COVERED = 0.5  # minimum overlap of a head and a column, as a share of the narrower width

_UNIT = re.compile(r"^\(\D*[^\W\d_]{2}\D*\)$")  # "(in millions)" may apply to all columns

Span = range
"""The indexes of the columns below a head."""


class _Head(NamedTuple):
    """A head and the columns below it."""

    cell: Cell
    span: Span


def place_heads(lines: Sequence[Line], columns: Columns) -> list[list[str]]:
    """Return one row of texts per header line, from top to bottom."""
    columns = _ruled_columns(lines, columns)
    rows: list[list[str]] = []
    placed: list[_Head] = []
    for line in reversed(lines):
        row, heads = _place(line, columns, placed, rows[0] if rows else None)
        rows.insert(0, row)
        placed += heads
        columns = _with_heads(columns, heads)
    return rows


def _with_heads(columns: Columns, heads: Sequence[_Head]) -> Columns:
    """Return the columns as wide as their own heads: the figures below may be only dashes."""
    wide = list(columns)
    for cell, span in heads:
        (left, right), (start, end) = extent(cell), columns[span[0]]
        near = max(left - end, start - right) < cell[0].top - cell[0].bottom
        if len(span) == 1 and near and overlapped(cell, columns) in ([], [span[0]]):
            wide[span[0]] = min(left, start), max(right, end)
    return wide


def _ruled_columns(lines: Sequence[Line], columns: Columns) -> Columns:
    """Return the columns with the widths of the lines drawn below the heads, if each column has its own line."""
    for line in reversed(lines):
        if extents := _rule_per_column(line, columns):
            return [(columns[0][0], min(columns[0][1], extents[0][0])), *extents]
    return columns


def _rule_per_column(line: Line, columns: Columns) -> list[Extent]:
    """Return the lines drawn below a line of heads if each column has its own. Such lines do not show spans."""
    below = [next((at for at in line.underlines if at[0] <= middle(one) <= at[1]), None) for one in columns[1:]]
    extents = [at for at in below if at]
    return extents if len(set(extents)) == len(columns) - 1 else []


def _place(
    line: Line, columns: Columns, placed: Sequence[_Head], below: Sequence[str] | None
) -> tuple[list[str], list[_Head]]:
    cells = head_cells(line, columns)
    if len(cells) == len(columns):
        return [joined(cell) for cell in cells], [_Head(cell, range(at, at + 1)) for at, cell in enumerate(cells)]
    labels = [cell for cell in cells if is_label(cell, columns)]
    heads = [cell for cell in cells if not is_label(cell, columns)]
    row = [" ".join(joined(cell) for cell in labels), *[""] * (len(columns) - 1)]
    spans = _spans(heads, line, columns, placed, below)
    for cell, span in zip(heads, spans, strict=True):
        for index in span:
            row[index] = f"{row[index]} {joined(cell)}".strip()
    return row, [_Head(cell, span) for cell, span in zip(heads, spans, strict=True)]


def is_label(cell: Cell, columns: Columns) -> bool:
    """Return whether the header cell is above the row labels."""
    left, right = extent(cell)
    if left <= columns[0][0] + (cell[0].top - cell[0].bottom) / 2:
        return True
    return right <= columns[1][0] and nearest(cell, columns) == 0


def head_cells(line: Line, columns: Columns) -> Cells:
    """Return the cells of a header line. Splits at narrower gaps if each cell then has its own column."""
    cells = split_at_narrow_gaps(line, columns, columns[1:]) or split_at_narrow_gaps(line, columns, columns)
    return cells or [part for cell in line.cells for part in _parts(cell, columns)]


def _parts(cell: Cell, columns: Columns) -> Cells:
    """Split a cell above several columns if each part is aligned with its own column."""
    if len(cell) == 1 or len(overlapped(cell, columns)) < 2:
        return [cell]
    parts: list[Cell] = []
    for part in split_cells(cell, _SPLIT_GAP):
        if parts and nearest(parts[-1], columns) == nearest(part, columns):
            parts[-1] = (*parts[-1], *part)
        else:
            parts.append(part)
    return parts if all(_is_aligned(part, columns[nearest(part, columns)]) for part in parts) else [cell]


def _is_aligned(cell: Cell, column: tuple[float, float]) -> bool:
    """Return whether the head is aligned with the column at an edge or at the centre."""
    left, right = extent(cell)
    slack = _ALIGNED * (cell[0].top - cell[0].bottom)
    edges = (left - column[0], right - column[1], middle((left, right)) - middle(column))
    return min(map(abs, edges)) <= slack


def _spans(
    heads: Cells, line: Line, columns: Columns, placed: Sequence[_Head], below: Sequence[str] | None
) -> list[Span]:
    if not heads:
        return []
    stacked = [_head_below(cell, line, placed) for cell in heads]
    are_centred = all(head and not _share_an_edge(cell, head.cell) for cell, head in zip(heads, stacked, strict=True))
    if not are_centred and (repeated := _repeated(heads, columns, below)):
        return repeated
    covered = [_covered(cell, columns) for cell in heads]
    named = {index for head in placed if any(map(str.isalnum, joined(head.cell))) for index in head.span}
    is_unit = len(heads) == 1 and bool(_UNIT.match(joined(heads[0])))
    last = [named.isdisjoint(span) and not is_unit for span in covered]
    known = [
        _underlined(cell, heads, line, columns, is_last=is_last) or (head and head.span)
        for cell, head, is_last in zip(heads, stacked, last, strict=True)
    ]
    if not any(known) and not all(last) and (centred := _centred(heads, columns)):
        return centred
    taken = [span or own for span, own in zip(known, covered, strict=True)]
    return [
        span or _widened(cell, [*taken[:at], *taken[at + 1 :]], columns, is_last=last[at])
        for at, (cell, span) in enumerate(zip(heads, known, strict=True))
    ]


def _head_below(cell: Cell, line: Line, placed: Sequence[_Head]) -> _Head | None:
    """Return the head below if both lines are one head. A drawn line between them separates them."""
    head = next((head for head in reversed(placed) if overlapped(cell, [extent(head.cell)])), None)
    if head is None or not is_stacked(cell, head.cell):
        return None
    is_drawn = any(start <= middle(extent(cell)) <= end for start, end in line.underlines)
    return None if is_drawn and cell[0].bottom >= head.cell[0].top else head


def is_stacked(cell: Cell, below: Cell) -> bool:
    """Return whether two lines are one head: they are close, and aligned at an edge or at the centre."""
    height = cell[0].top - cell[0].bottom
    centred = abs(middle(extent(cell)) - middle(extent(below))) <= _STACKED * height
    is_close = below[0].bottom < cell[0].bottom < below[0].top + _LINE_GAP * height
    return is_close and (centred or _share_an_edge(cell, below))


def _share_an_edge(cell: Cell, below: Cell) -> bool:
    offsets = (one - other for one, other in zip(extent(cell), extent(below), strict=True))
    return min(map(abs, offsets)) <= _STACKED * (cell[0].top - cell[0].bottom)


def _underlined(cell: Cell, heads: Cells, line: Line, columns: Columns, *, is_last: bool) -> Span | None:
    """Return the columns that the lines drawn below the head span, or None if they are below several heads.

    A drawn line that starts at the labels spans all columns. Below the last line of heads, such a line shows no spans.
    """
    if _rule_per_column(line, columns):
        return None
    own = next((at for at in line.underlines if at[0] <= middle(extent(cell)) <= at[1]), None)
    if own is None:
        return None
    reached = [at for at in line.underlines if at == own or _reaches(cell, at)]
    for left, right in ((reached[0][0], reached[-1][1]), own):
        heads_above = sum(left <= middle(extent(other)) <= right for other in heads)
        if heads_above == 1 and not (is_last and left <= middle(columns[0])):
            indexes = [index for index in range(1, len(columns)) if left <= middle(columns[index]) <= right]
            return range(indexes[0], indexes[-1] + 1) if indexes else None
    return None


def _reaches(cell: Cell, line: Extent) -> bool:
    """Return whether the head is above more than the edge of the drawn line."""
    return min(cell[-1].x1, line[1]) - max(cell[0].x0, line[0]) > (cell[0].top - cell[0].bottom) / 2


def _repeated(heads: Cells, columns: Columns, below: Sequence[str] | None) -> list[Span] | None:
    """Return the spans if the heads below repeat for each head, such as ``Q1 Q2 Q1 Q2`` below two years."""
    if below is None or len(heads) < 2 or (len(columns) - 1) % len(heads):
        return None
    width = (len(columns) - 1) // len(heads)
    texts = below[1:]
    if width < 2 or not all(texts) or any(text != texts[index % width] for index, text in enumerate(texts)):
        return None
    spans = [range(start, start + width) for start in range(1, len(columns), width)]
    fit = all(
        columns[span[0]][0] <= middle(extent(cell)) <= columns[span[-1]][1]
        for cell, span in zip(heads, spans, strict=True)
    )
    return spans if fit else None


def _centred(heads: Cells, columns: Columns) -> list[Span] | None:
    """Share all columns among the heads so that each is as central as possible. Return the spans if all are centred."""
    if len(heads) >= len(columns) - 1:
        return None
    spans = _shared(heads, columns)
    return spans if all(_is_centred(cell, span, columns) for cell, span in zip(heads, spans, strict=True)) else None


def _shared(heads: Cells, columns: Columns) -> list[Span]:
    """Return the adjacent spans of least total distance between the centres of the heads and of their columns."""
    best: dict[int, tuple[float, list[Span]]] = {1: (0.0, [])}
    for cell in heads:
        reached: dict[int, tuple[float, list[Span]]] = {}
        for start, (total, spans) in best.items():
            for end in range(start + 1, len(columns) + 1):
                cost = total + _off_centre(cell, range(start, end), columns)
                if end not in reached or cost < reached[end][0]:
                    reached[end] = cost, [*spans, range(start, end)]
        best = reached
    return best[len(columns)][1]


def _off_centre(cell: Cell, span: Span, columns: Columns) -> float:
    """Return the distance between the centres of a head and of its columns."""
    return abs(middle((columns[span[0]][0], columns[span[-1]][1])) - middle(extent(cell)))


def _is_centred(cell: Cell, span: Span, columns: Columns) -> bool:
    width = columns[span[-1]][1] - columns[span[0]][0]
    return _off_centre(cell, span, columns) <= _CENTRED * width / len(span)


def _widened(cell: Cell, others: Sequence[Span], columns: Columns, *, is_last: bool) -> Span:
    """Return the widest span above which the head is centred, without columns of other heads.

    A head in the last header line keeps the columns that it covers, unless it covers a single column and is not aligned
    with it.
    """
    own = _covered(cell, columns)
    if is_last and (len(own) > 1 or _is_aligned(cell, columns[own[0]])):
        return own
    taken = {index for span in others for index in span}
    for span in _around(own, len(columns)):
        if not taken & set(span) and _is_centred(cell, span, columns):
            return span
    return own


def _covered(cell: Cell, columns: Columns) -> Span:
    left, right = extent(cell)
    indexes = []
    for index, (start, end) in enumerate(columns):
        shared = min(right, end) - max(left, start)
        if index > 0 and shared > _COVERED * min(right - left, end - start):
            indexes.append(index)
    if not indexes:
        indexes = [1 + nearest(cell, columns[1:])]
    return range(indexes[0], indexes[-1] + 1)


def _around(own: Span, count: int) -> Iterator[Span]:
    """Yield the spans that contain ``own`` and are wider, the widest first."""
    for width in range(count - 1, len(own), -1):
        for start in range(max(1, own[-1] - width + 1), min(own[0], count - width) + 1):
            yield range(start, start + width)

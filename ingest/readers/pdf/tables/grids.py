"""Reads tables with framed cells: all text inside a frame is one cell, whatever its line breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

from ingest.readers.pdf.drawing import Box
from ingest.readers.pdf.lines import Line, joined
from ingest.readers.pdf.tables.rows import join_rows, join_wrapped
from ingest.readers.shared.header_rows import is_figure

_SAME_EDGE = 3.0  # points by which the borders of one edge may differ
_MIN_CELLS = 4
_LINES = 3  # minimum lines of words that are rows if all cells have as many


@dataclass(frozen=True, slots=True)
class Grid:
    """A framed table in lines [start, end) of one page. Merged cells repeat their text in each column and row."""

    start: int
    end: int
    rows: tuple[tuple[str, ...], ...]
    header_rows: int


class _Part(NamedTuple):
    """A line of a cell."""

    line: Line
    text: str


class _Cell(NamedTuple):
    """A frame: the columns and rows that it spans, and its lines."""

    columns: range
    rows: range
    parts: Sequence[_Part]

    @property
    def text(self) -> str:
        return reduce(join_wrapped, (part.text for part in self.parts), "")

    def text_of(self, line: Line) -> str:
        return " ".join(part.text for part in self.parts if part.line is line)


def find_grid(lines: Sequence[Line], start: int) -> Grid | None:
    """Return the framed table that begins with this line, or None. Frames within frames are not a table."""
    end = _end(lines, start)
    framed: dict[Box, list[_Part]] = {}
    for line in lines[start:end]:
        for box, cell in zip(line.boxes, line.cells, strict=True):
            if box:
                framed.setdefault(box, []).append(_Part(line, joined(cell)))
    lefts = _edges([edge for box in framed for edge in (box.left, box.right)])
    tops = _edges([edge for box in framed for edge in (-box.top, -box.bottom)])
    if len(framed) < _MIN_CELLS or len(lefts) < 3 or len(tops) < 3:
        return None
    cells = [
        _Cell(_span(lefts, box.left, box.right), _span(tops, -box.top, -box.bottom), parts)
        for box, parts in framed.items()
    ]
    places = Counter((row, column) for cell in cells for row in cell.rows for column in cell.columns)
    if any(not cell.columns or not cell.rows for cell in cells) or max(places.values()) > 1:
        return None
    rows = [row for at in range(len(tops) - 1) for row in _rows_at(at, cells, lefts)]
    return Grid(start, end, tuple(rows), _header_rows([(cell.columns, cell.rows) for cell in cells]))


def _rows_at(at: int, cells: Sequence[_Cell], lefts: Sequence[float]) -> Iterable[tuple[str, ...]]:
    """Return the table rows of one ruled row: one per line of figures, or a single row."""
    here = [cell for cell in cells if at in cell.rows]
    own = [cell for cell in here if len(cell.rows) == 1]
    if not _holds_rows(own):
        return [_row([(cell, cell.text) for cell in here], len(lefts) - 1)]
    lines = sorted(dict.fromkeys(part.line for cell in own for part in cell.parts), key=lambda line: -line.bottom)
    merged = [(cell, cell.text) for cell in here if len(cell.rows) > 1]
    texts = [_row([*merged, *((cell, cell.text_of(line)) for cell in own)], len(lefts) - 1) for line in lines]
    return join_rows(lines, texts, lefts[1])


def _holds_rows(cells: Sequence[_Cell]) -> bool:
    """Return whether the cells contain several rows: stacked figures with labels, or as many lines in each cell."""
    labels = next((cell.parts for cell in cells if cell.columns.start == 0), [])
    figures = max((sum(is_figure(part.text) for part in cell.parts) for cell in cells if cell.columns.start), default=0)
    heights = {len(cell.parts) for cell in cells}
    return len(labels) > 1 and (figures > 1 or (len(heights) == 1 and len(labels) >= _LINES))


def _row(texts: Iterable[tuple[_Cell, str]], width: int) -> tuple[str, ...]:
    row = [""] * width
    for cell, text in texts:
        for column in cell.columns:
            row[column] = text
    return tuple(row)


def _header_rows(spans: Sequence[tuple[range, range]]) -> int:
    """Return the height of the first row's cells if some of them span columns, otherwise 1."""
    first = [(columns, rows) for columns, rows in spans if rows.start == 0]
    is_merged = any(len(columns) > 1 for columns, _ in first)
    return max((len(rows) for _, rows in first), default=1) if is_merged else 1


def _end(lines: Sequence[Line], start: int) -> int:
    """Return the end of the lines whose cells are all framed and touch another frame."""
    end = start
    area: list[Box] = []
    while end < len(lines) and lines[end].page == lines[start].page:
        boxes = [box for box in lines[end].boxes if box]
        if len(boxes) < len(lines[end].boxes) or (
            area and not any(_touch(box, other) for box in boxes for other in area)
        ):
            break
        area += [box for box in boxes if box not in area]
        end += 1
    return end


def _touch(one: Box, other: Box) -> bool:
    horizontal = min(one.right, other.right) - max(one.left, other.left)
    vertical = min(one.top, other.top) - max(one.bottom, other.bottom)
    return min(horizontal, vertical) >= -_SAME_EDGE


def _edges(borders: Sequence[float]) -> list[float]:
    """Return the borders in order; borders close to each other become one."""
    ordered = sorted(borders)
    return [ordered[0], *(edge for last, edge in pairwise(ordered) if edge - last > _SAME_EDGE)] if ordered else []


def _span(edges: Sequence[float], start: float, end: float) -> range:
    """Return the indexes of the columns or rows between two borders."""
    first, last = (min(range(len(edges)), key=lambda index: abs(edges[index] - border)) for border in (start, end))
    return range(first, last)

"""Reads tables with framed cells: all text inside a frame is one cell, whatever its line breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ingest.readers.pdf.drawing import Box
from ingest.readers.pdf.lines import Line, joined

_SAME_EDGE = 3.0  # points by which the borders of one edge may differ
_MIN_CELLS = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """A framed table in lines [start, end) of one page. Merged cells repeat their text in each column and row."""

    start: int
    end: int
    rows: tuple[tuple[str, ...], ...]
    header_rows: int


def find_grid(lines: Sequence[Line], start: int) -> Grid | None:
    """Return the framed table that begins with this line, or None. Frames within frames are not a table."""
    end = _end(lines, start)
    cells = [(box, joined(cell)) for line in lines[start:end] for box, cell in zip(line.boxes, line.cells, strict=True)]
    boxes = [box for box, _ in cells if box]
    lefts = _edges([box.left for box in boxes] + [box.right for box in boxes])
    tops = _edges([-box.top for box in boxes] + [-box.bottom for box in boxes])
    if len(set(boxes)) < _MIN_CELLS or len(lefts) < 3 or len(tops) < 3:
        return None
    texts: dict[Box, str] = {}
    for box, text in cells:
        if box:
            texts[box] = join_wrapped(texts.get(box, ""), text)
    spans = {box: (_span(lefts, box.left, box.right), _span(tops, -box.top, -box.bottom)) for box in texts}
    places = Counter((row, column) for columns, rows in spans.values() for row in rows for column in columns)
    if any(not columns or not rows for columns, rows in spans.values()) or max(places.values()) > 1:
        return None
    table = [[""] * (len(lefts) - 1) for _ in tops[1:]]
    for box, (columns, rows) in spans.items():
        for row in rows:
            for column in columns:
                table[row][column] = texts[box]
    return Grid(start, end, tuple(tuple(row) for row in table), _header_rows(list(spans.values())))


def _header_rows(spans: Sequence[tuple[range, range]]) -> int:
    """Return the height of the first row's cells if some of them span columns, otherwise 1."""
    first = [(columns, rows) for columns, rows in spans if rows.start == 0]
    is_merged = any(len(columns) > 1 for columns, _ in first)
    return max((len(rows) for _, rows in first), default=1) if is_merged else 1


def join_wrapped(above: str, below: str) -> str:
    """Join two lines of a cell, and the halves of a word divided between them."""
    if above.endswith("-") and below[:1].islower():
        return above[:-1] + below
    return f"{above} {below}".strip()


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

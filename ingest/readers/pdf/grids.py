"""Reads the tables of PDFs whose cells are framed: what stands in a frame is a cell, however its lines are broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ingest.readers.pdf.drawing import Box
from ingest.readers.pdf.lines import Line, joined

_SAME_EDGE = 3.0  # points by which the borders of one edge may differ
_FEWEST_CELLS = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """The framed table in lines [start, end), all of one page, what merged cells say in each of their places."""

    start: int
    end: int
    rows: tuple[tuple[str, ...], ...]
    header_rows: int


def grid_at(lines: Sequence[Line], start: int) -> Grid | None:
    """The framed table that begins with this line, if one does: frames within frames are none."""
    end = _end(lines, start)
    cells = [(box, joined(cell)) for line in lines[start:end] for box, cell in zip(line.boxes, line.cells, strict=True)]
    boxes = [box for box, _ in cells if box]
    lefts = _edges([box.left for box in boxes] + [box.right for box in boxes])
    tops = _edges([-box.top for box in boxes] + [-box.bottom for box in boxes])
    if len(set(boxes)) < _FEWEST_CELLS or len(lefts) < 3 or len(tops) < 3:
        return None
    texts: dict[Box, str] = {}
    for box, text in cells:
        if box:
            texts[box] = unbroken(texts.get(box, ""), text)
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
    """As many rows as the first row's cells are high, where some of them span columns; else one."""
    first = [(columns, rows) for columns, rows in spans if rows.start == 0]
    is_merged = any(len(columns) > 1 for columns, _ in first)
    return max((len(rows) for _, rows in first), default=1) if is_merged else 1


def unbroken(above: str, below: str) -> str:
    """Two lines of a cell as one; a word broken between them is whole again, since a cell has no line ends."""
    if above.endswith("-") and below[:1].islower():
        return above[:-1] + below
    return f"{above} {below}".strip()


def _end(lines: Sequence[Line], start: int) -> int:
    """Where the lines whose cells are all framed, each beside another's frame, end."""
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
    beside = min(one.right, other.right) - max(one.left, other.left)
    level = min(one.top, other.top) - max(one.bottom, other.bottom)
    return min(beside, level) >= -_SAME_EDGE


def _edges(places: Sequence[float]) -> list[float]:
    """The places in order, those close to each other as one."""
    ordered = sorted(places)
    return [ordered[0], *(place for last, place in pairwise(ordered) if place - last > _SAME_EDGE)] if ordered else []


def _span(edges: Sequence[float], start: float, end: float) -> range:
    """The numbers of the columns or rows between two edges."""
    first, last = (min(range(len(edges)), key=lambda index: abs(edges[index] - place)) for place in (start, end))
    return range(first, last)

"""Reads tables with framed cells: all text inside a frame is one cell, whatever its line breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import compress, pairwise
from typing import NamedTuple

from ingest.readers.pdf.drawing import Box
from ingest.readers.pdf.lines import Line, joined
from ingest.readers.pdf.tables.rows import join_rows, join_wrapped
from ingest.readers.shared.header_rows import is_figure

_SAME_EDGE = 3.0  # points by which the borders of one edge may differ
_MIN_CELLS = 4
_MOST_HEADER_ROWS = 4
_LINES = 3  # minimum lines of words that are rows if all cells have as many


@dataclass(frozen=True, slots=True)
class Grid:
    """A framed table in lines [start, end) of one page. Merged cells repeat their text in each column and row."""

    start: int
    end: int
    rows: tuple[tuple[str, ...], ...]
    header_rows: int
    columns: tuple[tuple[float, float], ...]
    """Left and right edge of each column."""


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


def gathered(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of a page with those of each framed table together, from top to bottom."""
    found = list(lines)
    for drawing in dict.fromkeys(box.drawing for line in lines for box in line.boxes if box):
        found = _together(found, drawing)
    return found


def _together(lines: list[Line], drawing: int) -> list[Line]:
    """Return the lines with the cells in the frames of one drawing together, if these are a whole table."""
    chosen = [[box is not None and box.drawing == drawing for box in line.boxes] for line in lines]
    inside = [_cells_of(line, of_line) for line, of_line in zip(lines, chosen, strict=True)]
    if any(part and None in line.boxes for part, line in zip(inside, lines, strict=True)):
        return lines
    own = sorted(filter(None, inside), key=lambda line: -line.top)
    grid = find_grid(own, 0) if len(own) > 1 else None
    if grid is None or grid.end < len(own):
        return lines
    first = next(at for at, line in enumerate(inside) if line)
    rest = (_cells_of(line, [not each for each in of_line]) for line, of_line in zip(lines, chosen, strict=True))
    return [*lines[:first], *own, *filter(None, list(rest)[first:])]


def _cells_of(line: Line, chosen: Sequence[bool]) -> Line | None:
    """Return the line with only the chosen cells."""
    if all(chosen):
        return line
    if not any(chosen):
        return None
    cells, boxes = tuple(compress(line.cells, chosen)), tuple(compress(line.boxes, chosen))
    return replace(line, words=tuple(word for cell in cells for word in cell), cells=cells, boxes=boxes)


def find_grid(lines: Sequence[Line], start: int) -> Grid | None:
    """Return the framed table that begins with this line, or None. Frames within frames are not a table."""
    ends = (_end(lines, start, belong) for belong in (_of_one_drawing, _touch))
    return next(filter(None, (_grid(lines, start, end) for end in ends)), None)


def _grid(lines: Sequence[Line], start: int, end: int) -> Grid | None:
    framed: dict[Box, list[_Part]] = {}
    for line in lines[start:end]:
        for box, cell in zip(line.boxes, line.cells, strict=True):
            if box:
                framed.setdefault(box, []).append(_Part(line, joined(cell)))
    lefts = _edges([edge for box in framed for edge in (box.left, box.right)])
    tops = _edges([edge for box in framed for edge in (-box.top, -box.bottom)])
    if len(framed) < _MIN_CELLS or len(lefts) < 3 or len(tops) < 3 or any(map(_holds_columns, framed.values())):
        return None
    cells = [
        _Cell(_span(lefts, box.left, box.right), _span(tops, -box.top, -box.bottom), parts)
        for box, parts in framed.items()
    ]
    places = Counter((row, column) for cell in cells for row in cell.rows for column in cell.columns)
    if any(not cell.columns or not cell.rows for cell in cells) or max(places.values()) > 1:
        return None
    rows = [row for at in range(len(tops) - 1) for row in _rows_at(at, cells, lefts)]
    header_rows = _header_rows([(cell.columns, cell.rows) for cell in cells])
    return Grid(start, end, tuple(rows), header_rows, tuple(pairwise(lefts)))


def _holds_columns(parts: Sequence[_Part]) -> bool:
    """Return whether most lines in a frame have several cells: the frame is drawn around a table."""
    counts = Counter(id(part.line) for part in parts)
    return len(counts) > 1 and 2 * sum(count > 1 for count in counts.values()) > len(counts)


def _rows_at(at: int, cells: Sequence[_Cell], lefts: Sequence[float]) -> Iterable[tuple[str, ...]]:
    """Return the table rows of one ruled row: one per line of figures, or a single row."""
    here = [cell for cell in cells if at in cell.rows]
    own = [cell for cell in here if len(cell.rows) == 1]
    if not _holds_rows(own):
        return [_row([(cell, cell.text) for cell in here], len(lefts) - 1)]
    lines = sorted(dict.fromkeys(part.line for cell in own for part in cell.parts), key=lambda line: -line.bottom)
    beside_all = [cell for cell in own if len(cell.parts) == 1 < len(lines)] if len(_labels(own)) < 2 else []
    merged = [(cell, cell.text) for cell in (*here, *beside_all) if len(cell.rows) > 1 or cell in beside_all]
    own = [cell for cell in own if cell not in beside_all]
    lines = [line for line in lines if any(cell.text_of(line) for cell in own)]
    texts = [_row([*merged, *((cell, cell.text_of(line)) for cell in own)], len(lefts) - 1) for line in lines]
    return join_rows(lines, texts, lefts[1])


def _labels(cells: Sequence[_Cell]) -> Sequence[_Part]:
    return next((cell.parts for cell in cells if cell.columns.start == 0), ())


def _holds_rows(cells: Sequence[_Cell]) -> bool:
    """Return whether the cells contain several rows: stacked figures and labels, or as many lines in each cell."""
    labels = _labels(cells)
    figures = [sum(is_figure(part.text) for part in cell.parts) for cell in cells if cell.columns.start]
    heights = Counter(len(cell.parts) for cell in cells)
    most = max(heights, default=0)
    if len(labels) < 2:  # a label beside several rows, each with other labels
        return most > 1 and set(heights) <= {1, most} and heights[most] > 1 and max(figures, default=0) == most
    return max(figures, default=0) > 1 or (len(heights) == 1 and len(labels) >= _LINES)


def _row(texts: Iterable[tuple[_Cell, str]], width: int) -> tuple[str, ...]:
    row = [""] * width
    for cell, text in texts:
        for column in cell.columns:
            row[column] = text
    return tuple(row)


def _header_rows(spans: Sequence[tuple[range, range]]) -> int:
    """Return the number of rows down to the first one without a head that spans several columns."""
    height = 1
    while height < _MOST_HEADER_ROWS:
        last = [(columns, rows) for columns, rows in spans if height - 1 in rows]
        if not any(len(columns) > 1 for columns, _ in last):
            break
        height = max(height + 1, *(rows.stop for _, rows in last))
    return height


def _end(lines: Sequence[Line], start: int, belong: Callable[[Box, Box], bool]) -> int:
    """Return the end of the lines whose cells are all framed and belong to another frame."""
    end = start
    area: list[Box] = []
    while end < len(lines) and lines[end].page == lines[start].page:
        boxes = [box for box in lines[end].boxes if box]
        if len(boxes) < len(lines[end].boxes) or (
            area and not any(belong(box, other) for box in boxes for other in area)
        ):
            break
        area += [box for box in boxes if box not in area]
        end += 1
    return end


def _of_one_drawing(one: Box, other: Box) -> bool:
    return one.drawing == other.drawing


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

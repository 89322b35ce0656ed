"""Reads the lines and shapes drawn on a PDF page, which frame the rows and cells of tables and underline text."""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import pypdfium2.raw as pdfium
from pypdfium2 import PdfMatrix, PdfPage

_SHORTEST_RULE = 4  # points
_THICKEST_LINE = 3  # points
_UNDERLINE = (0.6, 0.25)  # line heights: maximum distance of an underline below and above the bottom of its line
_TOUCHING = 1.0  # points: maximum distance of the parts of one line
_JOINED = 2.5  # points: maximum gap between the parts of one drawn line
_CORNERS = 3  # a rectangle has more
_MOST_NESTED = 3  # forms within forms
_LEVEL = 0.5  # points: maximum slant of a straight line
_MAX_SHAPES = 4000  # further shapes are ignored: pages with more shapes contain pictures, not tables

Bounds = tuple[float, float, float, float]
"""Left, bottom, right and top, in points."""

Extent = tuple[float, float]
"""Left and right end of a drawn line."""

Rule = tuple[float, float, float]
"""A drawn line: its position on one axis, and its start and end on the other."""


class Box(NamedTuple):
    """A frame drawn around a cell, in points, and the number of the drawing of connected lines that it belongs to."""

    left: float
    bottom: float
    right: float
    top: float
    drawing: int = 0

    def moved(self, x: float, y: float) -> Box:
        return Box(self.left + x, self.bottom + y, self.right + x, self.top + y, self.drawing)


class Drawing(NamedTuple):
    """The vertical and horizontal edges of all shapes, and the drawn lines, which may frame cells."""

    vertical: Sequence[Rule]
    horizontal: Sequence[Rule]
    vertical_lines: Sequence[Rule]
    horizontal_lines: Sequence[Rule]
    connected: Mapping[Rule, int] = MappingProxyType({})
    """The vertical lines, with a number for each drawing of lines that touch each other."""


NOTHING = Drawing((), (), (), ())


def rotate_box(box: Bounds, turn: int) -> Bounds:
    """Return the box after rotating the page so that its text is upright."""
    left, bottom, right, top = box
    match turn:
        case 1:
            return bottom, -right, top, -left
        case 2:
            return -right, -top, -left, -bottom
        case 3:
            return -top, left, -bottom, right
        case _:
            return left, bottom, right, top


_Object = tuple[Any, int, Bounds]
_objects: WeakKeyDictionary[PdfPage, Sequence[_Object]] = WeakKeyDictionary()
"""The objects of open pages: several parts of the reader look at each of them."""


def page_objects(page: PdfPage, most: int) -> Iterator[_Object]:
    """Yield the objects of a page with their types and bounds, in the order in which they are drawn."""
    if page not in _objects:
        _objects[page] = tuple(islice(_objects_of(page), _MAX_SHAPES))
    return islice(_objects[page], most)


def _objects_of(page: PdfPage) -> Iterator[_Object]:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for index in range(pdfium.FPDFPage_CountObjects(page)):
        each = pdfium.FPDFPage_GetObject(page, index)
        pdfium.FPDFPageObj_GetBounds(each, left, bottom, right, top)
        yield each, pdfium.FPDFPageObj_GetType(each), (left.value, bottom.value, right.value, top.value)


def read_drawing(page: PdfPage, turn: int) -> Drawing:
    """Return the edges and lines drawn on the page."""
    vertical: set[Rule] = set()
    horizontal: set[Rule] = set()
    vertical_lines: set[Rule] = set()
    horizontal_lines: set[Rule] = set()
    for bounds in islice(_shapes(page), _MAX_SHAPES):
        x0, y0, x1, y1 = rotate_box(bounds, turn)
        is_line = min(x1 - x0, y1 - y0) < _THICKEST_LINE
        if y1 - y0 > _SHORTEST_RULE:
            vertical.update((round(x, 1), y0, y1) for x in (x0, x1))
            if is_line:
                vertical_lines.add(((x0 + x1) / 2, y0, y1))
        if x1 - x0 > _SHORTEST_RULE:
            horizontal.update((round(y, 1), x0, x1) for y in (y0, y1))
            if is_line:
                horizontal_lines.add(((y0 + y1) / 2, x0, x1))
    return connect(vertical_lines, horizontal_lines)._replace(vertical=sorted(vertical), horizontal=sorted(horizontal))


def connect(vertical: Iterable[Rule], horizontal: Iterable[Rule]) -> Drawing:
    """Return a drawing of these lines."""
    upright, level = _merged(vertical), _merged(horizontal)
    return Drawing(upright, level, upright, level, _connected(upright, level))


def _merged(lines: Iterable[Rule]) -> list[Rule]:
    """Return the lines in order. The parts of one line that touch become one."""
    merged: list[Rule] = []
    for at, start, end in sorted(lines):
        place, first, last = merged[-1] if merged else (-inf, 0.0, 0.0)
        if at - place < _TOUCHING and first - _TOUCHING <= start <= last + _TOUCHING:
            merged[-1] = place, min(start, first), max(end, last)
        else:
            merged.append((at, start, end))
    return merged


def _connected(upright: Sequence[Rule], level: Sequence[Rule]) -> dict[Rule, int]:
    """Return the number of the connected drawing of each upright line."""
    of_line: dict[Rule, int] = {}
    of_level: dict[Rule, int] = {}
    for number, line in enumerate(upright):
        x, bottom, top = line
        crossed = level[bisect_left(level, (bottom - _JOINED,)) : bisect_right(level, (top + _JOINED, inf))]
        crossed = [each for each in crossed if each[1] - _JOINED <= x <= each[2] + _JOINED]
        known = {of_level[each] for each in crossed if each in of_level}
        of_line[line] = own = min(known, default=number)
        of_level.update(dict.fromkeys(crossed, own))
        if len(known) > 1:
            of_line = {each: own if old in known else old for each, old in of_line.items()}
            of_level = {each: own if old in known else old for each, old in of_level.items()}
    return of_line


def _shapes(page: PdfPage) -> Iterator[Bounds]:
    """Yield the bounds of all rectangles and straight lines of a page, including those inside a path or a form."""
    budget = [_MAX_SHAPES]
    for each, kind, bounds in page_objects(page, _MAX_SHAPES):
        if kind == pdfium.FPDF_PAGEOBJ_FORM:
            yield from _shapes_of_form(each, PdfMatrix(), budget)
        elif kind == pdfium.FPDF_PAGEOBJ_PATH:
            is_line = min(bounds[2] - bounds[0], bounds[3] - bounds[1]) < _THICKEST_LINE
            yield from (bounds,) if is_line else _parts(each, PdfMatrix(), budget)


def _shapes_of_form(form: Any, outside: PdfMatrix, budget: list[int], depth: int = 0) -> Iterator[Bounds]:
    matrix = _matrix(form).multiply(outside)
    for index in range(min(pdfium.FPDFFormObj_CountObjects(form), _MAX_SHAPES)):
        each = pdfium.FPDFFormObj_GetObject(form, index)
        kind = pdfium.FPDFPageObj_GetType(each)
        if kind == pdfium.FPDF_PAGEOBJ_PATH:
            yield from _parts(each, matrix, budget)
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _MOST_NESTED:
            yield from _shapes_of_form(each, matrix, budget, depth + 1)


def _matrix(each: Any) -> PdfMatrix:
    raw = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(each, raw)
    return PdfMatrix.from_raw(raw)


def _parts(path: Any, outside: PdfMatrix, budget: list[int]) -> Iterator[Bounds]:
    """Yield the bounds of each rectangle of a path, and of each straight line if it is stroked."""
    count = pdfium.FPDFPath_CountSegments(path)
    budget[0] -= count
    if budget[0] < 0:
        return
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(path, fill, stroke)
    matrix = _matrix(path).multiply(outside)
    for corners in _outlines(path, count, matrix):
        if stroke.value:
            yield from (_around(edge) for edge in pairwise(corners) if _is_straight(*edge))
        elif len(corners) > _CORNERS and all(_is_straight(*edge) for edge in pairwise(corners)):
            yield _around(corners)


def _outlines(path: Any, count: int, matrix: PdfMatrix) -> Iterator[list[tuple[float, float]]]:
    """Yield the corners of each connected part of a path. A curve ends a part."""
    x, y = ctypes.c_float(), ctypes.c_float()
    corners: list[tuple[float, float]] = []
    for index in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(path, index)
        if pdfium.FPDFPathSegment_GetType(segment) != pdfium.FPDF_SEGMENT_LINETO:
            yield corners
            corners = []
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        corners.append(matrix.on_point(x.value, y.value))
        if pdfium.FPDFPathSegment_GetClose(segment):
            corners.append(corners[0])
    yield corners


def _is_straight(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return min(abs(one[0] - other[0]), abs(one[1] - other[1])) < _LEVEL


def _around(corners: Sequence[tuple[float, float]]) -> Bounds:
    xs, ys = zip(*corners, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def find_box(x: float, y: float, reach: float, drawing: Drawing) -> Box | None:
    """Return the frame of four drawn lines around a point, or None. The text from point to ``reach`` must fit in it.

    Underlines and shaded areas are not frames. A shaded area may cover half a cell.
    """
    crossing = [line for line in drawing.vertical_lines if line[1] <= y <= line[2]]
    side = max((line for line in crossing if line[0] <= x), default=None)
    other = min((line for line in crossing if line[0] > x), default=None)
    if not (nearest := side or other):
        return None
    left, right = side[0] if side else -inf, other[0] if other else inf
    sides = (left + _THICKEST_LINE, right - _THICKEST_LINE)
    levels = [
        line
        for line in drawing.horizontal_lines
        if line[1] <= x <= line[2] and (line[1] <= sides[0] or line[2] >= sides[1])
    ]
    below = max((line for line in levels if line[0] <= y), default=None)
    above = min((line for line in levels if line[0] > y), default=None)
    if below is None or above is None:
        return None
    if not (side and other):  # a table without lines at its sides ends where its level lines end
        ends = [abs(below[1] - above[1]), abs(below[2] - above[2])]
        if ends[bool(side)] > _THICKEST_LINE:
            return None
        left, right = (left, below[2]) if side else (below[1], right)
    if reach > right + _THICKEST_LINE:
        return None
    return Box(left, below[0], right, above[0], drawing.connected.get(nearest, 0))


def find_band(x: float, y: float, horizontal: Sequence[Rule]) -> tuple[float, float] | None:
    """Return the vertical positions of the edges below and above a point, or None."""
    heights = [height for height, left, right in horizontal if left <= x <= right]
    below = max((height for height in heights if height <= y), default=None)
    above = min((height for height in heights if height > y), default=None)
    return None if below is None or above is None else (round(below), round(above))


def find_underlines(bottom: float, top: float, drawing: Drawing) -> tuple[Extent, ...]:
    """Return the extents of the drawn lines directly below a line of text. Merges parts that touch."""
    height = top - bottom
    below, above = (share * height for share in _UNDERLINE)
    first = bisect_left(drawing.horizontal_lines, (bottom - below,))
    last = bisect_right(drawing.horizontal_lines, (bottom + above,))
    extents: list[Extent] = []
    for left, right in sorted((left, right) for _, left, right in drawing.horizontal_lines[first:last]):
        if extents and left - extents[-1][1] <= _JOINED:
            extents[-1] = (extents[-1][0], max(right, extents[-1][1]))
        else:
            extents.append((left, right))
    return tuple(extents)

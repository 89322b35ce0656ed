"""Reads the lines and shapes drawn on a PDF page, which frame the rows and cells of tables and underline text."""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage

_SHORTEST_RULE = 4  # points
_THICKEST_LINE = 3  # points
_UNDERLINE = (0.6, 0.25)  # line heights: maximum distance of an underline below and above the bottom of its line
_JOINED = 2.5  # points: maximum gap between the parts of one drawn line
_MAX_SHAPES = 4000  # further shapes are ignored: pages with more shapes contain pictures, not tables

Bounds = tuple[float, float, float, float]
"""Left, bottom, right and top, in points."""

Extent = tuple[float, float]
"""Left and right end of a drawn line."""

Rule = tuple[float, float, float]
"""A drawn line: its position on one axis, and its start and end on the other."""


class Box(NamedTuple):
    """A frame drawn around a cell, in points."""

    left: float
    bottom: float
    right: float
    top: float


class Drawing(NamedTuple):
    """The vertical and horizontal edges of all shapes, and the drawn lines, which may frame cells."""

    vertical: Sequence[Rule]
    horizontal: Sequence[Rule]
    vertical_lines: Sequence[Rule]
    horizontal_lines: Sequence[Rule]


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


def page_objects(page: PdfPage, most: int) -> Iterator[tuple[Any, int, Bounds]]:
    """Yield the objects of a page with their types and bounds, in the order in which they are drawn."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for index in range(min(pdfium.FPDFPage_CountObjects(page), most)):
        each = pdfium.FPDFPage_GetObject(page, index)
        pdfium.FPDFPageObj_GetBounds(each, left, bottom, right, top)
        yield each, pdfium.FPDFPageObj_GetType(each), (left.value, bottom.value, right.value, top.value)


def read_drawing(page: PdfPage, turn: int) -> Drawing:
    """Return the edges and lines drawn on the page."""
    vertical: set[Rule] = set()
    horizontal: set[Rule] = set()
    vertical_lines: set[Rule] = set()
    horizontal_lines: set[Rule] = set()
    for _, kind, bounds in page_objects(page, _MAX_SHAPES):
        if kind != pdfium.FPDF_PAGEOBJ_PATH:
            continue
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
    return Drawing(sorted(vertical), sorted(horizontal), sorted(vertical_lines), sorted(horizontal_lines))


def find_box(x: float, y: float, reach: float, drawing: Drawing) -> Box | None:
    """Return the frame of four drawn lines around a point, or None. The text from point to ``reach`` must fit in it.

    Underlines and shaded areas are not frames. A shaded area may cover half a cell.
    """
    crossing = [at for at, start, end in drawing.vertical_lines if start <= y <= end]
    left = max((at for at in crossing if at <= x), default=None)
    right = min((at for at in crossing if at > x), default=None)
    if left is None or right is None or reach > right + _THICKEST_LINE:
        return None
    sides = (left + _THICKEST_LINE, right - _THICKEST_LINE)
    levels = [
        at
        for at, start, end in drawing.horizontal_lines
        if start <= x <= end and (start <= sides[0] or end >= sides[1])
    ]
    bottom = max((at for at in levels if at <= y), default=None)
    top = min((at for at in levels if at > y), default=None)
    return None if bottom is None or top is None else Box(left, bottom, right, top)


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

"""What is drawn on a PDF's page: the lines and shapes that make rows and cells of tables, as PDFium gives them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_SHORTEST_RULE = 4
_THICKEST_LINE = 3
_RULES_READ = 4000  # drawings with more shapes than this are no tables

Rule = tuple[float, float, float]
"""A drawn line: where it stands, from where, to where."""


class Box(NamedTuple):
    """A frame that is drawn around something."""

    left: float
    bottom: float
    right: float
    top: float


class Drawing(NamedTuple):
    """The edges of all shapes, upright and level; and of these the lines that may frame cells."""

    upright: Sequence[Rule]
    level: Sequence[Rule]
    posts: Sequence[Rule]
    beams: Sequence[Rule]


def turned(left: float, bottom: float, right: float, top: float, turn: int) -> tuple[float, float, float, float]:
    """A box (left, bottom, right, top) on a page that is turned so that its text stands upright."""
    match turn:
        case 1:
            return bottom, -right, top, -left
        case 2:
            return -right, -top, -left, -bottom
        case 3:
            return -top, left, -bottom, right
        case _:
            return left, bottom, right, top


def drawing_of(page: PdfPage, turn: int) -> Drawing:
    """What is drawn on the page: lines, and the cell borders of tables."""
    import pypdfium2.raw as pdfium

    upright: set[Rule] = set()
    level: set[Rule] = set()
    posts: set[Rule] = set()
    beams: set[Rule] = set()
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for index in range(min(pdfium.FPDFPage_CountObjects(page.raw), _RULES_READ)):
        shape = pdfium.FPDFPage_GetObject(page.raw, index)
        if pdfium.FPDFPageObj_GetType(shape) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        pdfium.FPDFPageObj_GetBounds(shape, left, bottom, right, top)
        x0, y0, x1, y1 = turned(left.value, bottom.value, right.value, top.value, turn)
        is_line = min(x1 - x0, y1 - y0) < _THICKEST_LINE
        if y1 - y0 > _SHORTEST_RULE:
            upright.update((round(x, 1), y0, y1) for x in (x0, x1))
            if is_line:
                posts.add(((x0 + x1) / 2, y0, y1))
        if x1 - x0 > _SHORTEST_RULE:
            level.update((round(y, 1), x0, x1) for y in (y0, y1))
            if is_line:
                beams.add(((y0 + y1) / 2, x0, x1))
    return Drawing(sorted(upright), sorted(level), sorted(posts), sorted(beams))


def box_of(x: float, y: float, reach: float, drawing: Drawing) -> Box | None:
    """The frame of four lines around a place, if what begins there ends in it, at ``reach``.

    Underlines frame nothing, nor do shades, which may be of half a cell.
    """
    posts = [at for at, start, end in drawing.posts if start <= y <= end]
    left = max((at for at in posts if at <= x), default=None)
    right = min((at for at in posts if at > x), default=None)
    if left is None or right is None or reach > right + _THICKEST_LINE:
        return None
    sides = (left + _THICKEST_LINE, right - _THICKEST_LINE)
    beams = [at for at, start, end in drawing.beams if start <= x <= end and (start <= sides[0] or end >= sides[1])]
    bottom = max((at for at in beams if at <= y), default=None)
    top = min((at for at in beams if at > y), default=None)
    return None if bottom is None or top is None else Box(left, bottom, right, top)


def band_of(x: float, y: float, level: Sequence[Rule]) -> tuple[float, float] | None:
    """The heights of the edges below and above a place."""
    heights = [height for height, left, right in level if left <= x <= right]
    below = max((height for height in heights if height <= y), default=None)
    above = min((height for height in heights if height > y), default=None)
    return None if below is None or above is None else (round(below), round(above))

"""Finds pages with a large figure: an image or a drawing.

The rule uses only the layout of the page. A page has a figure if it has few words, and if images and drawn shapes cover
a large part of the area without words. Lines, white shapes and rectangles behind words do not count, because they
decorate text.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from itertools import islice

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage

from ingest.readers.pdf.drawing import Bounds, page_objects
from ingest.readers.pdf.lines import Line
from ingest.readers.pdf.words import Word

_MOST_WORDS = 300  # a full page of prose has at least 400
_LEAST_SHARE = 0.15  # minimum share of the page that figures cover
_CELLS = 40  # rows and columns of the grid that measures the covered area
_THICKEST_LINE = 3  # points
_MOST_OBJECTS = 4000  # further objects are ignored
_WHITE = 0xF5  # a colour with all channels at or above this value counts as white
_LABEL = 1  # words: maximum length of the label of a bar in a chart
_BOX_SEGMENTS = 5  # segments of the outline of a rectangle; a shape with more is a drawing


def has_figure(page: PdfPage, lines: Sequence[Line]) -> bool:
    """Return whether the page has a large figure outside its lines of text."""
    words = [word for line in lines for word in line.words]
    if len(words) > _MOST_WORDS:
        return False
    width, height = page.get_size()
    covered = [bytearray(_CELLS) for _ in range(_CELLS)]
    for bounds in _figures(page, words):
        _fill(covered, bounds, width, height, 1)
    for word in words:
        _fill(covered, (word.x0, word.bottom, word.x1, word.top), width, height, 0)
    return sum(map(sum, covered)) >= _LEAST_SHARE * _CELLS**2


def _figures(page: PdfPage, words: Sequence[Word]) -> Iterator[Bounds]:
    """Yield the left, bottom, right and top of each image and drawn shape, in points."""
    for shape, kind, bounds in page_objects(page, _MOST_OBJECTS):
        if kind == pdfium.FPDF_PAGEOBJ_TEXT or min(bounds[2] - bounds[0], bounds[3] - bounds[1]) <= _THICKEST_LINE:
            continue
        is_box = kind == pdfium.FPDF_PAGEOBJ_PATH and pdfium.FPDFPath_CountSegments(shape) <= _BOX_SEGMENTS
        if not is_box or (_is_filled(shape) and not _underlies(bounds, words)):
            yield bounds


def _underlies(bounds: Bounds, words: Sequence[Word]) -> bool:
    """Return whether several words are inside the bounds. One word may be the label of a bar."""
    left, bottom, right, top = bounds
    inside = (word for word in words if left <= word.middle[0] <= right and bottom <= word.middle[1] <= top)
    return len(list(islice(inside, _LABEL + 1))) > _LABEL


def _is_filled(path: ctypes.c_void_p) -> bool:
    """Return whether the path is filled with a colour other than white."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(path, fill, stroke)
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if fill.value == pdfium.FPDF_FILLMODE_NONE or not pdfium.FPDFPageObj_GetFillColor(path, red, green, blue, alpha):
        return False
    return alpha.value > 0 and min(red.value, green.value, blue.value) < _WHITE


def _fill(cells: list[bytearray], bounds: Bounds, width: float, height: float, value: int) -> None:
    """Set the grid cells that the bounds touch to ``value``."""
    left, right = (_cell(x, width) for x in (bounds[0], bounds[2]))
    first, last = (_cell(y, height) for y in (bounds[1], bounds[3]))
    for row in range(first, last + 1):
        cells[row][left : right + 1] = bytes([value]) * (right + 1 - left)


def _cell(at: float, size: float) -> int:
    return min(max(int(at / max(size, 1) * _CELLS), 0), _CELLS - 1)

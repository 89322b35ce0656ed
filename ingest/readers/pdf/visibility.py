"""Finds words that a page contains but does not show: on a hidden layer, white on white, under a shape, or too small.

Text that is drawn as invisible stays: scans have it below their pictures.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ingest.readers.pdf.drawing import rotate_box
from ingest.readers.pdf.words import Word

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_WHITE = 0xF0  # a colour with all channels at or above this value may be white on white
_SMALLEST = 1.5  # points: print below this height cannot be read
_DPI = 72
_CONTRAST = 20  # of 255: minimum difference of the pixels around a word that can be seen
_MARK = "OC".encode("utf-16-le")  # of content on a layer
_THINNEST = 4.0  # points: filled shapes below this are rules
_MOST_OBJECTS = 3000  # of a page; with more, words under shapes are not looked for


class _Shape(NamedTuple):
    """A filled shape with its drawing order and its colour."""

    left: float
    bottom: float
    right: float
    top: float
    order: int
    colour: tuple[int, ...]


def hidden_words(page: PdfPage, text_page: ctypes.c_void_p, words: Sequence[tuple[int, Word]], turn: int) -> set[int]:
    """Return the positions of the words in ``words`` that the page does not show."""
    hidden = {place for place, (_, word) in enumerate(words) if word.text and word.top - word.bottom < _SMALLEST}
    objects = _objects(page)
    shapes, has_groups = _shapes(objects, turn)
    of_object: dict[int, bool] = {}
    doubtful = [
        place
        for place, (index, word) in enumerate(words)
        if place not in hidden
        and word.text
        and (
            _is_doubtful(text_page, index, of_object)
            or (has_groups and _order(text_page, index, objects) < 0)  # the group may be on a layer
            or (shapes and _is_in_shape(text_page, index, word, shapes, objects))
        )
    ]
    if not doubtful:
        return hidden
    shown = _Picture(page)
    return hidden | {place for place in doubtful if not shown.has_ink(words[place][1], turn)}


def _objects(page: PdfPage) -> dict[int, int]:
    """Return the drawing order of the objects of a page by their address."""
    import pypdfium2.raw as pdfium

    count = pdfium.FPDFPage_CountObjects(page.raw)
    if count > _MOST_OBJECTS:
        return {}
    found = (pdfium.FPDFPage_GetObject(page.raw, number) for number in range(count))
    return {ctypes.addressof(each.contents): number for number, each in enumerate(found)}


def _shapes(objects: Mapping[int, int], turn: int) -> tuple[list[_Shape], bool]:
    """Return the filled shapes among objects that may hold a line, and whether groups of objects are among them."""
    import pypdfium2.raw as pdfium

    shapes, has_groups = [], False
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    for address, order in objects.items():
        shape = ctypes.cast(address, pdfium.FPDF_PAGEOBJECT)
        kind = pdfium.FPDFPageObj_GetType(shape)
        has_groups = has_groups or kind == pdfium.FPDF_PAGEOBJ_FORM
        if kind == pdfium.FPDF_PAGEOBJ_PATH:
            pdfium.FPDFPath_GetDrawMode(shape, fill, stroke)
            if fill.value and pdfium.FPDFPageObj_GetBounds(shape, left, bottom, right, top):
                box = rotate_box(left.value, bottom.value, right.value, top.value, turn)
                if min(box[2] - box[0], box[3] - box[1]) > _THINNEST:
                    shapes.append(_Shape(*box, order, _colour(pdfium.FPDFPageObj_GetFillColor, shape)))
    return shapes, has_groups


def _order(text_page: ctypes.c_void_p, index: int, objects: Mapping[int, int]) -> int:
    """Return the drawing order of a character. -1 if it is in a group, or if pdfium added it."""
    import pypdfium2.raw as pdfium

    drawn = pdfium.FPDFText_GetTextObject(text_page, index)
    return objects.get(ctypes.addressof(drawn.contents), -1) if drawn else -1


def _colour(read: Callable[..., object], *of: object) -> tuple[int, ...]:
    colour = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    read(*of, *colour)
    return tuple(channel.value for channel in colour[:3])


def _is_in_shape(
    text_page: ctypes.c_void_p, index: int, word: Word, shapes: Sequence[_Shape], objects: Mapping[int, int]
) -> bool:
    """Return whether a word may be under a shape that is drawn later, or on one of its own colour."""
    import pypdfium2.raw as pdfium

    x, y = (word.x0 + word.x1) / 2, (word.bottom + word.top) / 2
    around = [shape for shape in shapes if shape.left < x < shape.right and shape.bottom < y < shape.top]
    if not around:
        return False
    order = _order(text_page, index, objects)
    colour = _colour(pdfium.FPDFText_GetFillColor, text_page, index)
    return any(
        shape.order > order >= 0 or max(abs(a - b) for a, b in zip(shape.colour, colour, strict=True)) < _CONTRAST
        for shape in around
    )


def _is_doubtful(text_page: ctypes.c_void_p, index: int, of_object: dict[int, bool]) -> bool:
    """Return whether a character is white or on a layer. All characters of an object are, or none."""
    import pypdfium2.raw as pdfium

    drawn = pdfium.FPDFText_GetTextObject(text_page, index)
    address = ctypes.addressof(drawn.contents) if drawn else 0
    if address not in of_object:
        is_white = min(_colour(pdfium.FPDFText_GetFillColor, text_page, index)) >= _WHITE
        of_object[address] = (
            pdfium.FPDFTextObj_GetTextRenderMode(drawn) != pdfium.FPDF_TEXTRENDERMODE_INVISIBLE
            if is_white
            else _is_on_layer(drawn)
        )
    return of_object[address]


def _is_on_layer(drawn: ctypes.c_void_p) -> bool:
    import pypdfium2.raw as pdfium

    for number in range(pdfium.FPDFPageObj_CountMarks(drawn)):
        mark, size = pdfium.FPDFPageObj_GetMark(drawn, number), ctypes.c_ulong()
        name = (pdfium.FPDF_WCHAR * 8)()
        if pdfium.FPDFPageObjMark_GetName(mark, name, ctypes.sizeof(name), size) and bytes(name)[:4] == _MARK:
            return True
    return False


class _Picture:
    """A grey picture of the page, in which one pixel is one point."""

    def __init__(self, page: PdfPage) -> None:
        bitmap = page.render(scale=_DPI / 72, grayscale=True, may_draw_forms=False, rotation=-page.get_rotation() % 360)
        try:
            pixels = bytes(bitmap.buffer)
            starts = range(0, bitmap.height * bitmap.stride, bitmap.stride)
            self._rows = [pixels[start : start + bitmap.width] for start in starts]
        finally:
            bitmap.close()
        self._left, self._bottom, _, self._top = page.get_bbox()

    def has_ink(self, word: Word, turn: int) -> bool:
        """Return whether the pixels in the box of the word differ."""
        left, bottom, right, top = rotate_box(word.x0, word.bottom, word.x1, word.top, -turn % 4)
        if right < self._left or bottom > self._top:  # outside of the page, where the lines leave it out
            return True
        columns = slice(max(int(left - self._left) - 1, 0), int(right - self._left) + 2)
        rows = self._rows[max(int(self._top - top), 0) : int(self._top - bottom) + 1]
        pixels = b"".join(row[columns] for row in rows)
        return not pixels or max(pixels) - min(pixels) >= _CONTRAST

"""Finds words that a page contains but does not show: on a hidden layer, white on white, covered, clipped or too small.

Invisible text is kept on pages with pictures and on pages without other text. Scans and pages whose letters are drawn
as outlines contain their text in this form.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage, PdfTextPage

from ingest.readers.pdf.drawing import Bounds, page_objects, rotate_box
from ingest.readers.pdf.words import Word

_WHITE = 0xF0  # a colour with all channels at or above this value may be white on white
_SMALLEST = 1.5  # points: print below this height cannot be read
_DPI = 72
_CONTRAST = 20  # of 255: minimum difference of the pixels around a word that can be seen
_MARK = "OC".encode("utf-16-le")  # of content on a layer
_THINNEST = 4.0  # points: filled shapes below this are rules
_SCAN = 0.5  # of the page: larger pictures are scans, which may have their text layer below them
_NO_COLOUR = (-1000, -1000, -1000)
_MOST_OBJECTS = 3000  # of a page; with more, words under shapes are not looked for


class _Shape(NamedTuple):
    """A filled shape with its drawing order and its colour."""

    left: float
    bottom: float
    right: float
    top: float
    order: int
    colour: tuple[int, ...]


def hidden_words(page: PdfPage, text_page: PdfTextPage, words: Sequence[tuple[int, Word]], turn: int) -> set[int]:
    """Return the positions of the words in ``words`` that the page does not show."""
    hidden = {place for place, (_, word) in enumerate(words) if word.text and word.top - word.bottom < _SMALLEST}
    too_many = pdfium.FPDFPage_CountObjects(page) > _MOST_OBJECTS
    objects = [] if too_many else list(page_objects(page, _MOST_OBJECTS))
    orders = {ctypes.addressof(each.contents): order for order, (each, *_) in enumerate(objects)}
    shapes = list(_shapes(objects, turn, _SCAN * page.get_width() * page.get_height()))
    has_groups = any(kind == pdfium.FPDF_PAGEOBJ_FORM for _, kind, _ in objects)
    has_pictures = too_many or has_groups or any(kind == pdfium.FPDF_PAGEOBJ_IMAGE for _, kind, _ in objects)
    drawn = (pdfium.FPDFText_GetTextObject(text_page, index) for index, word in words if word.text)
    modes = map(pdfium.FPDFTextObj_GetTextRenderMode, drawn)
    is_scan = has_pictures or all(mode == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE for mode in modes)
    of_object: dict[int, bool] = {}
    clips: dict[int, Bounds] = {}
    doubtful = [
        place
        for place, (index, word) in enumerate(words)
        if place not in hidden
        and word.text
        and (
            _is_doubtful(text_page, index, of_object, is_scan=is_scan)
            or (has_groups and _order(text_page, index, orders) < 0)  # the group may be on a layer
            or (shapes and _is_in_shape(text_page, index, word, shapes, orders))
            or _is_clipped(text_page, index, word, clips, turn)
        )
    ]
    if not doubtful:
        return hidden
    shown = _Picture(page)
    return hidden | {place for place in doubtful if not shown.has_ink(words[place][1], turn)}


def _shapes(objects: Sequence[tuple[Any, int, Bounds]], turn: int, scan: float) -> Iterator[_Shape]:
    """Yield the filled shapes that can hold a line of text, and the pictures below ``scan`` square points."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    for order, (shape, kind, bounds) in enumerate(objects):
        box = rotate_box(bounds, turn)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE and (box[2] - box[0]) * (box[3] - box[1]) < scan:
            yield _Shape(*box, order, _NO_COLOUR)
        elif kind == pdfium.FPDF_PAGEOBJ_PATH:
            pdfium.FPDFPath_GetDrawMode(shape, fill, stroke)
            if fill.value and min(box[2] - box[0], box[3] - box[1]) > _THINNEST:
                yield _Shape(*box, order, _colour(pdfium.FPDFPageObj_GetFillColor, shape))


def _is_clipped(text_page: PdfTextPage, index: int, word: Word, clips: dict[int, Bounds], turn: int) -> bool:
    """Return whether a word is outside the clipping area of its text object."""
    drawn = pdfium.FPDFText_GetTextObject(text_page, index)
    address = ctypes.addressof(drawn.contents) if drawn else 0
    if address not in clips:
        clips[address] = rotate_box(_clip(drawn), turn)
    (x, y), (left, bottom, right, top) = word.middle, clips[address]
    return not (left <= x <= right and bottom <= y <= top)


def _clip(drawn: object) -> Bounds:
    """Return the bounding box of the clipping area of an object."""
    clip = pdfium.FPDFPageObj_GetClipPath(drawn)
    x, y = ctypes.c_float(), ctypes.c_float()
    areas: list[Bounds] = [(-inf, -inf, inf, inf)]
    for path in range(pdfium.FPDFClipPath_CountPaths(clip)):
        points = []
        for each in range(min(pdfium.FPDFClipPath_CountPathSegments(clip, path), _MOST_OBJECTS)):
            pdfium.FPDFPathSegment_GetPoint(pdfium.FPDFClipPath_GetPathSegment(clip, path, each), x, y)
            points.append((x.value, y.value))
        areas += [(*map(min, zip(*points, strict=True)), *map(max, zip(*points, strict=True)))] if points else []
    lefts, bottoms, rights, tops = zip(*areas, strict=True)
    return max(lefts), max(bottoms), min(rights), min(tops)


def _order(text_page: PdfTextPage, index: int, orders: Mapping[int, int]) -> int:
    """Return the drawing order of a character. -1 if it is in a group, or if pdfium added it.

    ``orders`` has that of the objects of the page by their addresses.
    """
    drawn = pdfium.FPDFText_GetTextObject(text_page, index)
    return orders.get(ctypes.addressof(drawn.contents), -1) if drawn else -1


def _colour(read: Callable[..., object], *of: object) -> tuple[int, ...]:
    colour = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    read(*of, *colour)
    return tuple(channel.value for channel in colour)


def _is_in_shape(
    text_page: PdfTextPage, index: int, word: Word, shapes: Sequence[_Shape], orders: Mapping[int, int]
) -> bool:
    """Return whether a word may be under a shape that is drawn later, or on one of its own colour."""
    x, y = (word.x0 + word.x1) / 2, (word.bottom + word.top) / 2
    around = [shape for shape in shapes if shape.left < x < shape.right and shape.bottom < y < shape.top]
    if not around:
        return False
    order = _order(text_page, index, orders)
    colour = _colour(pdfium.FPDFText_GetFillColor, text_page, index)
    return any(
        shape.order > order >= 0
        or max(abs(a - b) for a, b in zip(shape.colour[:3], colour[:3], strict=True)) < _CONTRAST
        for shape in around
    )


def _is_doubtful(text_page: PdfTextPage, index: int, of_object: dict[int, bool], *, is_scan: bool) -> bool:
    """Return whether a character is white, transparent, invisible outside of scans and outlines, or on a layer.

    All characters of an object are, or none.
    """
    drawn = pdfium.FPDFText_GetTextObject(text_page, index)
    address = ctypes.addressof(drawn.contents) if drawn else 0
    if address not in of_object:
        *colour, opacity = _colour(pdfium.FPDFText_GetFillColor, text_page, index)
        is_invisible = pdfium.FPDFTextObj_GetTextRenderMode(drawn) == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE
        is_unseen = not opacity or min(colour) >= _WHITE or is_invisible
        of_object[address] = not (is_invisible and is_scan) if is_unseen else _is_on_layer(drawn)
    return of_object[address]


def _is_on_layer(drawn: ctypes.c_void_p) -> bool:
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
        left, bottom, right, top = rotate_box((word.x0, word.bottom, word.x1, word.top), -turn % 4)
        if right < self._left or bottom > self._top:  # outside of the page, where the lines leave it out
            return True
        columns = slice(max(int(left - self._left) - 1, 0), int(right - self._left) + 2)
        rows = self._rows[max(int(self._top - top), 0) : int(self._top - bottom) + 1]
        pixels = b"".join(row[columns] for row in rows)
        return not pixels or max(pixels) - min(pixels) >= _CONTRAST

"""Finds words that a page has but does not show: on a layer that is off, white on white, or too small to read.

Text that is drawn as invisible stays: scans have it below their pictures. Words under a drawn shape are not found.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ingest.readers.pdf.drawing import rotate_box
from ingest.readers.pdf.words import Word

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_WHITE = 0xF0  # a colour with all channels at or above this value may be white on white
_SMALLEST = 1.5  # points: print below this height cannot be read
_DPI = 72
_CONTRAST = 20  # of 255: minimum difference of the pixels around a word that can be seen
_MARK = "OC".encode("utf-16-le")  # of content on a layer


def hidden_words(page: PdfPage, text_page: ctypes.c_void_p, words: Sequence[tuple[int, Word]], turn: int) -> set[int]:
    """Return the positions of the words in ``words`` that the page does not show."""
    hidden = {place for place, (_, word) in enumerate(words) if word.text and word.top - word.bottom < _SMALLEST}
    doubtful = [
        place
        for place, (index, word) in enumerate(words)
        if place not in hidden and word.text and _is_doubtful(text_page, index)
    ]
    if not doubtful:
        return hidden
    shown = _Picture(page)
    return hidden | {place for place in doubtful if not shown.has_ink(words[place][1], turn)}


def _is_doubtful(text_page: ctypes.c_void_p, index: int) -> bool:
    import pypdfium2.raw as pdfium

    colour = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFText_GetFillColor(text_page, index, *colour)
    if min(channel.value for channel in colour[:3]) >= _WHITE:
        drawn = pdfium.FPDFText_GetTextObject(text_page, index)
        return bool(pdfium.FPDFTextObj_GetTextRenderMode(drawn) != pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)
    return _is_on_layer(pdfium.FPDFText_GetTextObject(text_page, index))


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
        columns = slice(max(int(left - self._left) - 1, 0), int(right - self._left) + 2)
        rows = self._rows[max(int(self._top - top), 0) : int(self._top - bottom) + 1]
        pixels = b"".join(row[columns] for row in rows)
        return not pixels or max(pixels) - min(pixels) >= _CONTRAST

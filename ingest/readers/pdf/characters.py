"""Reads the characters of a PDF page, and takes those of vertical columns out of them."""

from __future__ import annotations

import ctypes
import unicodedata

from ingest.readers.pdf.accents import ACCENTS, compose
from ingest.readers.pdf.tables.stored import Stored
from ingest.readers.pdf.vertical import Glyph, as_word, find_columns, find_readings, may_be_vertical

SOFT_HYPHEN = "\x02"  # PDFium's character for a hyphen at a line end
_LAM, _ALEFS = "ل", "اأإآ"


def read_characters(text_page: ctypes.c_void_p) -> list[str]:
    """Return the characters of the page by PDFium index. Joins surrogate pairs and leaves their second index empty."""
    import pypdfium2.raw as pdfium

    count = pdfium.FPDFText_CountChars(text_page)
    codes = [pdfium.FPDFText_GetUnicode(text_page, index) for index in range(count)]
    characters = [chr(code) if code < 0x110000 else "" for code in codes]
    for index, code in enumerate(codes):
        if 0xD800 <= code < 0xE000:
            low = codes[index + 1] if index + 1 < count else 0
            is_pair = code < 0xDC00 and 0xDC00 <= low < 0xE000
            characters[index] = chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)) if is_pair else ""
    for index in range(1, count):
        if characters[index] == _LAM and characters[index - 1] in _ALEFS and _is_ligature(text_page, index - 1, index):
            characters[index - 1 : index + 1] = [_LAM, characters[index - 1]]
        elif characters[index] in ACCENTS or (codes[index] > 0x7F and unicodedata.combining(characters[index] or " ")):
            compose(text_page, characters, index)
    return characters


def _is_ligature(text_page: ctypes.c_void_p, first: int, second: int) -> bool:
    """Return whether two characters form one ligature. PDFium returns Arabic ligatures from left to right."""
    import pypdfium2.raw as pdfium

    boxes = pdfium.FS_RECTF(), pdfium.FS_RECTF()
    for index, box in zip((first, second), boxes, strict=True):
        pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
    return bool(boxes[0].left == boxes[1].left and boxes[0].right == boxes[1].right)


def take_columns(text_page: ctypes.c_void_p, characters: list[str], turn: int) -> list[Stored]:
    """Return the columns of an upright page with vertical text. Their characters, and readings, become line ends."""
    if turn or not may_be_vertical(characters):
        return []
    glyphs = [_glyph(text_page, index, text) for index, text in enumerate(characters) if text.strip()]
    columns = find_columns(glyphs)
    readings = find_readings(glyphs, columns)
    columns = [column for column in columns if not all(glyph.place in readings for glyph in column.glyphs)]
    for place in readings.union(glyph.place for column in columns for glyph in column.glyphs):
        characters[place] = "\n"
    return [[as_word(column)] for column in columns]


def _glyph(text_page: ctypes.c_void_p, index: int, text: str) -> Glyph:
    """Return a character. A full-width character counts as square, because font heights are unreliable."""
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
    width, height = box.right - box.left, box.top - box.bottom
    if unicodedata.east_asian_width(text) in "WF":
        height = width
    half, centre = height / 2, (box.bottom + box.top) / 2
    middle = (box.left + box.right) / 2
    return Glyph(index, text.replace(SOFT_HYPHEN, "-"), max(width, height), middle, centre - half, centre + half)

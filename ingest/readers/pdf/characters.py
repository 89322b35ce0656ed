"""Reads the characters of a PDF page, and takes those of vertical columns out of them."""

from __future__ import annotations

import unicodedata

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

from ingest.readers.pdf.accents import ACCENTS, compose
from ingest.readers.pdf.tables.stored import Stored
from ingest.readers.pdf.vertical import Glyph, as_word, find_columns, find_readings, may_be_vertical

SOFT_HYPHEN = "\x02"  # PDFium's character for a hyphen at a line end
_LAM, _ALEFS = "ل", "اأإآ"


def read_characters(text_page: PdfTextPage) -> list[str]:
    """Return the characters of the page by PDFium index. Joins surrogate pairs and leaves their second index empty."""
    count = text_page.count_chars()
    codes = [pdfium.FPDFText_GetUnicode(text_page.raw, index) for index in range(count)]
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


def _is_ligature(text_page: PdfTextPage, first: int, second: int) -> bool:
    """Return whether two characters form one ligature. PDFium returns Arabic ligatures from left to right."""
    one, other = (text_page.get_charbox(index, loose=True) for index in (first, second))
    return bool(one[::2] == other[::2])


def take_columns(text_page: PdfTextPage, characters: list[str], turn: int) -> list[Stored]:
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


def _glyph(text_page: PdfTextPage, index: int, text: str) -> Glyph:
    """Return a character. A full-width character counts as square, because font heights are unreliable."""
    left, bottom, right, top = text_page.get_charbox(index, loose=True)
    width, height = right - left, top - bottom
    if unicodedata.east_asian_width(text) in "WF":
        height = width
    half, centre, middle = height / 2, (bottom + top) / 2, (left + right) / 2
    return Glyph(index, text.replace(SOFT_HYPHEN, "-"), max(width, height), middle, centre - half, centre + half)

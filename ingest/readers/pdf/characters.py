"""Reads the characters of a PDF page, composes accents drawn apart (TeX: ``u¨``), takes vertical columns out."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import cache

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

from ingest.readers.pdf.tables.stored import Stored
from ingest.readers.pdf.vertical import Glyph, as_word, find_columns, find_readings, may_be_vertical

SOFT_HYPHEN = "\x02"  # PDFium's character for a hyphen at a line end
_LAM, _ALEFS = "ل", "اأإآ"
_ACCENTS = {
    "\u00a8": "\u0308", "\u00b4": "\u0301", "`": "\u0300", "\u02c6": "\u0302", "^": "\u0302", "\u02dc": "\u0303",
    "~": "\u0303", "\u02da": "\u030a", "\u00b0": "\u030a", "\u00b8": "\u0327", "\u02c7": "\u030c", "\u02d8": "\u0306",
    "\u02d9": "\u0307", "\u02dd": "\u030b", "\u02db": "\u0328", "\u00af": "\u0304",
}  # fmt: skip
"""Accents that stand alone, with the combining characters that they are when they stand above or below a letter."""
_SIGNS = "^~°"  # are characters of their own in text
_ON_ONE_LINE = 0.3  # of its height: maximum distance of an accent's foot from that of its letter
_WITH_DOT = {"\u0131": "i", "\u0237": "j"}  # letters without a dot stand below accents


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
    boxes = cache(lambda: [_box(text_page, place) for place in range(count)])
    for index in range(1, count):
        if characters[index] == _LAM and characters[index - 1] in _ALEFS and _is_ligature(text_page, index - 1, index):
            characters[index - 1 : index + 1] = [_LAM, characters[index - 1]]
        elif characters[index] in _ACCENTS or (codes[index] > 0x7F and unicodedata.combining(characters[index] or " ")):
            _compose(text_page, characters, index, boxes)
    return characters


_Box = tuple[float, float, float, float]


def _compose(text_page: PdfTextPage, characters: list[str], index: int, boxes: Callable[[], Sequence[_Box]]) -> None:
    """Join the accent at this index with the letter that it stands over. Leave others.

    The letter is before or after it, or anywhere on the page if the accent stands alone: some programs draw the accents
    of a page after its lines. ``boxes`` returns the box of each character of the page.
    """
    left, bottom, right, top = _box(text_page, index)
    middle, level = (left + right) / 2, _ON_ONE_LINE * (top - bottom)
    near = [(each, _box(text_page, each)) for each in (index - 1, index + 1) if 0 <= each < len(characters)]
    is_alone = characters[index] not in _SIGNS and not any(characters[each].strip() for each, _ in near)
    combining = _ACCENTS.get(characters[index], characters[index])
    for place, (start, foot, end, _) in enumerate(boxes()) if is_alone else near:
        if start <= middle <= end and (abs(foot - bottom) < level or not is_alone) and characters[place].isalpha():
            base = _WITH_DOT.get(characters[place], characters[place])
            letter = unicodedata.normalize("NFC", base + combining)
            if len(letter) == 1:
                characters[place], characters[index] = letter, ""
                return


def _box(text_page: PdfTextPage, index: int) -> _Box:
    """Return left, bottom, right and top of a character."""
    left, bottom, right, top = text_page.get_charbox(index, loose=True)
    return min(left, right), min(bottom, top), max(left, right), max(bottom, top)


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

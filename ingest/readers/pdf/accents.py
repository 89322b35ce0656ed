"""Joins letters with accents that a PDF draws as characters of their own, as TeX does: ``u¨`` becomes ``ü``."""

from __future__ import annotations

import unicodedata

from pypdfium2 import PdfTextPage

ACCENTS = {
    "\u00a8": "\u0308", "\u00b4": "\u0301", "`": "\u0300", "\u02c6": "\u0302", "^": "\u0302", "\u02dc": "\u0303",
    "~": "\u0303", "\u02da": "\u030a", "\u00b0": "\u030a", "\u00b8": "\u0327", "\u02c7": "\u030c", "\u02d8": "\u0306",
    "\u02d9": "\u0307", "\u02dd": "\u030b", "\u02db": "\u0328", "\u00af": "\u0304",
}  # fmt: skip
"""Accents that stand alone, with the combining characters that they are when they stand above or below a letter."""

_WITH_DOT = {"\u0131": "i", "\u0237": "j"}  # letters without a dot stand below accents


def compose(text_page: PdfTextPage, characters: list[str], index: int) -> None:
    """Join the accent at this index with the letter that it stands over, before or after it. Leave others."""
    combining = ACCENTS.get(characters[index], characters[index])
    left, right = _sides(text_page, index)
    middle = (left + right) / 2
    for neighbour in (index - 1, index + 1):
        if not 0 <= neighbour < len(characters):
            continue
        base = _WITH_DOT.get(characters[neighbour], characters[neighbour])
        letter = unicodedata.normalize("NFC", base + combining)
        start, end = _sides(text_page, neighbour)
        if base.isalpha() and len(letter) == 1 and start <= middle <= end:
            characters[neighbour], characters[index] = letter, ""
            return


def _sides(text_page: PdfTextPage, index: int) -> tuple[float, float]:
    left, _, right, _ = text_page.get_charbox(index, loose=True)
    return min(left, right), max(left, right)

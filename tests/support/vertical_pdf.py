"""Writes PDFs with vertical text, in a font of plain boxes: its characters count, not their shapes."""

from __future__ import annotations

import unicodedata
from contextlib import AbstractContextManager
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fpdf import FPDF

_LATIN = "".join(map(chr, range(32, 127)))
_ASCENT = 0.88


class VerticalPage:
    """A page on which each character is placed. Positions are in points from the upper left corner."""

    def __init__(self, folder: Path, letters: str) -> None:
        self._pdf = FPDF(unit="pt", format=(595, 842))
        self._pdf.set_auto_page_break(False)
        self._pdf.add_page()
        self._pdf.add_font("boxes", fname=_write_font(folder / "boxes.ttf", letters + _LATIN))

    def line(self, x: float, y: float, text: str, size: float = 12) -> None:
        """Write a line whose top is at y."""
        self._pdf.set_font("boxes", size=size)
        self._pdf.text(x, y + _ASCENT * size, text)

    def column(self, x: float, y: float, text: str, size: float = 12, pitch: float = 1.0) -> None:
        """Write a column. ``|12|`` stands in one place; punctuation stands in the upper right corner of its own."""
        for place in _places(text):
            left = x + (size - size * len(place) / 2) / 2 if place.isascii() else x
            shift = 0.6 * size if place in "、。" else 0
            for at, character in enumerate(place):
                self.line(left + at * size / 2 + shift, y - shift, character, size)
            y += pitch * size

    def turned(self, x: float, y: float) -> AbstractContextManager[None]:
        """Return a context in which the page is turned clockwise about this place."""
        return self._pdf.rotation(-90, x, y)

    def save(self, path: Path, *, identity_v: bool = False) -> Path:
        """Write the file. With ``identity_v``, each text runs downwards from its place."""
        data = bytes(self._pdf.output())
        path.write_bytes(data.replace(b"/Identity-H", b"/Identity-V") if identity_v else data)
        return path


def _places(text: str) -> list[str]:
    parts = text.split("|")
    return [place for at, part in enumerate(parts) for place in ([part] if at % 2 else part)]


def _write_font(path: Path, letters: str) -> Path:
    characters = sorted(set(letters))
    names = {ord(character): f"u{ord(character):04X}" for character in characters}
    font = FontBuilder(1000, isTTF=True)
    font.setupGlyphOrder([".notdef", *names.values()])
    font.setupCharacterMap(names)
    pen = TTGlyphPen(None)
    pen.moveTo((50, 0))
    for point in (50, 700), (450, 700), (450, 0):
        pen.lineTo(point)
    pen.closePath()
    box = pen.glyph()
    font.setupGlyf(dict.fromkeys([".notdef", *names.values()], box))
    widths = {names[ord(each)]: (1000 if unicodedata.east_asian_width(each) in "WF" else 500, 0) for each in characters}
    font.setupHorizontalMetrics({".notdef": (1000, 0)} | widths)
    font.setupHorizontalHeader(ascent=880, descent=-120)
    font.setupNameTable({"familyName": "boxes", "styleName": "Regular"})
    font.setupOS2(sTypoAscender=880, sTypoDescender=-120, usWinAscent=880, usWinDescent=120)
    font.setupPost()
    font.save(path)
    return path

"""Reads the style of text: font, weight, slant, colour, underline and direction."""

from __future__ import annotations

import ctypes
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import pi
from typing import NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

from ingest.readers.pdf.drawing import Rule
from ingest.readers.pdf.words import Word
from ingest.readers.shared.form import struck

_BOLD = re.compile(r"bold|black|heavy", re.IGNORECASE)
_ITALIC = re.compile(r"italic|oblique", re.IGNORECASE)
_SUBSET = re.compile(r"^[A-Z]{6}\+")  # prefix of the name of an embedded font subset
_ITALIC_FLAG = 1 << 6  # bit of the PDF font flags
_UPRIGHT = 0.1  # radians: maximum angle between upright text and the page
_UNDERLINE = 3.0  # points: maximum distance between an underline and the bottom of its text, and between their ends
_UNDERLINED = 0.8  # minimum share of the text above drawn lines
# In heights of a word: where a line strikes it out, and the maximum distance between the ends of the two. This is also
# at most a share of the length: the line in the legend of a chart is longer than its sign.
_STRUCK, _REACH, _REACH_SHARE = (0.3, 0.62), 0.4, 0.25


class Style(NamedTuple):
    """The typographic style of a line, without its size."""

    font: str = ""
    bold: bool = False
    italic: bool = False
    colour: tuple[int, int, int] = (0, 0, 0)
    underlined: bool = False
    upright: bool = True


PLAIN = Style()


def style_at(text_page: PdfTextPage, index: int, turn: int) -> Style:
    """Return the style of the character at this index on a page rotated by ``turn`` quarter turns."""
    colour = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFText_GetFillColor(text_page, index, *colour)
    red, green, blue, _ = colour
    font, bold, italic = font_at(text_page, index)
    upright = is_upright(pdfium.FPDFText_GetCharAngle(text_page, index), turn)
    return Style(font, bold, italic, (red.value, green.value, blue.value), upright=upright)


def font_at(text_page: PdfTextPage, index: int) -> tuple[str, bool, bool]:
    """Return the font of the character at this index, and whether it is bold and italic."""
    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text_page, index, name, len(name), flags)
    font, bold, italic = _font(name.value)
    return font, bold, italic or bool(flags.value & _ITALIC_FLAG)


@lru_cache(maxsize=512)
def _font(name: bytes) -> tuple[str, bool, bool]:
    """Return the font name without its subset prefix, and whether the font is bold and italic."""
    font = _SUBSET.sub("", name.decode("utf-8", errors="replace"))
    return font, bool(_BOLD.search(font)), bool(_ITALIC.search(font))


def is_upright(angle: float, turn: int) -> bool:
    """Return whether text at this angle is upright after rotating the page. PDFium returns -1 for an unknown angle."""
    off = (angle + turn * pi / 2) % (2 * pi)
    return angle < 0 or min(off, 2 * pi - off) < _UPRIGHT


def is_underlined(left: float, right: float, bottom: float, top: float, lines: Sequence[Rule]) -> bool:
    """Return whether drawn lines underline this text. Lines that extend beyond the text belong to tables."""
    first = bisect_left(lines, (bottom - _UNDERLINE,))
    covered = 0.0
    for at, start, end in lines[first:]:
        if at > bottom + (top - bottom) / 3:
            break
        if start < right and end > left:
            if start < left - _UNDERLINE or end > right + _UNDERLINE:
                return False
            covered += min(end, right) - max(start, left)
    return covered >= _UNDERLINED * (right - left)


def with_strikes(words: Sequence[Word], lines: Sequence[Rule]) -> tuple[Word, ...]:
    """Return the words of a line with the marks of struck text.

    What strikes words out begins and ends where they do. Lines of tables and charts that cross words are longer.
    """
    bottom, top = min(word.bottom for word in words), max(word.top for word in words)
    near = lines[bisect_left(lines, (bottom,)) : bisect_right(lines, (top,))]
    drawn: list[Rule] = []  # of the parts of each drawn line
    for at, start, end in sorted(near, key=lambda line: (round(line[0]), line[1])):
        if drawn and round(drawn[-1][0]) == round(at) and start - drawn[-1][2] <= _UNDERLINE:
            drawn[-1] = at, drawn[-1][1], max(drawn[-1][2], end)
        else:
            drawn.append((at, start, end))
    found = list(words)
    for at, start, end in drawn:
        crossed = [
            place
            for place, word in enumerate(words)
            if _STRUCK[0] < (at - word.bottom) / max(word.top - word.bottom, 1) < _STRUCK[1]
            and min(end, word.x1) - max(start, word.x0) >= _UNDERLINED * (word.x1 - word.x0)
        ]
        if not any(map(str.isalnum, "".join(words[place].text for place in crossed))):  # a dash, a sign of a chart
            continue
        left, right = min(words[place].x0 for place in crossed), max(words[place].x1 for place in crossed)
        height = words[crossed[0]].top - words[crossed[0]].bottom
        reach = min(_REACH * height, _REACH_SHARE * (right - left))
        if abs(left - start) <= reach and abs(right - end) <= reach:
            found = [
                replace(word, text=struck(word.text)) if place in crossed else word for place, word in enumerate(found)
            ]
    return tuple(found)

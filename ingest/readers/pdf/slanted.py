"""Puts the heads of a table that are drawn at an angle into one line above it, as heads of other tables are."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import sin

from ingest.readers.pdf.words import Word

_SLANT = 0.5  # minimum sine of twice the angle: between 15 and 75 degrees
_HEADS = 3  # minimum heads that end at one height
_LEVEL = 0.5  # of a head's size: maximum distance of these heights

Found = tuple[int, Word, bool]
"""A word with the index of its first character, and whether a line ends after it."""


def with_level_heads(text_page: ctypes.c_void_p, words: Sequence[Found]) -> list[Found]:
    """Return the words of an upright page, with each slanted head as one word where its lower end is."""
    slanted = [_is_slanted(text_page, index) for index, _, _ in words]
    if sum(slanted) < _HEADS:
        return list(words)
    parts: list[list[Found]] = []
    for at, found in enumerate(words):
        if at and slanted[at] and slanted[at - 1] and not words[at - 1][2]:
            parts[-1].append(found)
        else:
            parts.append([found])
    places = {part[0][0]: _level(text_page, part) for part in parts if _is_slanted(text_page, part[0][0])}
    heads = {index for index, word in places.items() if sum(_beside(word, one) for one in places.values()) >= _HEADS}
    return [
        each
        for part in parts
        for each in ([(part[0][0], places[part[0][0]], part[-1][2])] if part[0][0] in heads else part)
    ]


def _beside(word: Word, other: Word) -> bool:
    return abs(word.bottom - other.bottom) < _LEVEL * (word.top - word.bottom)


def _is_slanted(text_page: ctypes.c_void_p, index: int) -> bool:
    import pypdfium2.raw as pdfium

    return abs(sin(2 * pdfium.FPDFText_GetCharAngle(text_page, index))) > _SLANT


def _level(text_page: ctypes.c_void_p, head: Sequence[Found]) -> Word:
    """Return the head as a narrow upright word where the lower of its first and last characters is."""
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    ends = []
    for index in (head[0][0], head[-1][0] + len(head[-1][1].text) - 1):
        pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
        ends.append((box.bottom, box.left, box.right))
    bottom, left, right = min(ends)
    size = pdfium.FPDFText_GetFontSize(text_page, head[0][0])
    middle = (left + right) / 2
    return Word(" ".join(word.text for _, word, _ in head), middle - size / 2, middle + size / 2, bottom, bottom + size)

"""Moves slanted column heads into one horizontal line above their table."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from math import sin

from ingest.readers.pdf.words import Word

_SLANT = 0.5  # minimum sine of twice the angle: between 15 and 75 degrees
_HEADS = 3  # minimum heads whose lower ends are at one height
_LEVEL = 0.5  # of a head's size: maximum distance of these heights

Found = tuple[int, Word, bool]
"""A word with the index of its first character, and whether a line ends after it."""


def with_level_heads(text_page: ctypes.c_void_p, words: Sequence[Found]) -> Iterator[Found]:
    """Yield the words of an upright page, with each slanted head as one word where its lower end is."""
    parts: list[list[Found]] = []
    heads: dict[int, Word] = {}
    for found in words:
        is_slanted = _is_slanted(text_page, found[0])
        if is_slanted and len(parts) - 1 in heads and not parts[-1][-1][2]:
            parts[-1].append(found)
        else:
            parts.append([found])
        if is_slanted:
            heads[len(parts) - 1] = _level(text_page, parts[-1])
    for at, part in enumerate(parts):
        head = heads.get(at)
        if (
            head
            and sum(abs(head.bottom - each.bottom) < _LEVEL * (head.top - head.bottom) for each in heads.values())
            >= _HEADS
        ):
            yield part[0][0], head, part[-1][2]
        else:
            yield from part


def _is_slanted(text_page: ctypes.c_void_p, index: int) -> bool:
    import pypdfium2.raw as pdfium

    return abs(sin(2 * pdfium.FPDFText_GetCharAngle(text_page, index))) > _SLANT


def _level(text_page: ctypes.c_void_p, head: Sequence[Found]) -> Word:
    """Return the head as a narrow upright word at the lower of its two ends."""
    import pypdfium2.raw as pdfium

    box, ends = pdfium.FS_RECTF(), []
    for index in (head[0][0], head[-1][0] + len(head[-1][1].text) - 1):
        pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
        ends.append((box.bottom, (box.left + box.right) / 2))
    bottom, middle = min(ends)
    half = pdfium.FPDFText_GetFontSize(text_page, head[0][0]) / 2
    return Word(" ".join(word.text for _, word, _ in head), middle - half, middle + half, bottom, bottom + 2 * half)

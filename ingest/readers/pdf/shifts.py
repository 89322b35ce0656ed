"""Finds raised and lowered characters of a word by their size and baseline, so that 10⁶ does not become 106."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ingest.readers.pdf.drawing import rotate_box
from ingest.readers.pdf.styles import is_upright
from ingest.readers.pdf.words import Word
from ingest.readers.shared.form import Piece, raised, write_pieces

_SMALLER = 0.86  # of the size of the word: shifted characters are at most this high
_RAISED, _LOWERED = 0.12, -0.06  # of the size of the word: from here on a baseline is raised or lowered
_WORD = 3  # letters
_ADJACENT = 0.25  # of the height of a word: maximum gap before raised characters that belong to it


class _Character(NamedTuple):
    height: float
    baseline: float


def may_be_shifted(text: str, first: float, last: float) -> bool:
    """Return whether to look at each character of a word, given the heights of its first and last ones.

    Looking costs a call of PDFium for each. Words of letters and figures, such as H₂O, may be shifted inside.
    """
    if len(text) < 2:
        return False
    if min(first, last) < _SMALLER * max(first, last):
        return True
    return any(character.isdigit() for character in text[1:]) and any(character.isalpha() for character in text)


def with_shifts(text_page: ctypes.c_void_p, characters: Sequence[str], start: int, turn: int) -> str:
    """Return the characters as a word, with raised and lowered ones marked. ``start`` is the index of the first."""
    import pypdfium2.raw as pdfium

    if not is_upright(pdfium.FPDFText_GetCharAngle(text_page, start), turn):
        return "".join(characters)
    found = [_character(text_page, start + index, turn) for index in range(len(characters))]
    height = max(character.height for character in found)
    full = [character.baseline for character in found if character.height > _SMALLER * height]
    baseline = sorted(full)[len(full) // 2]
    shifts = [_shift(character, height, baseline) for character in found]
    if not any(shifts) or not all(part.strip() for part in characters):
        return "".join(characters)
    return write_pieces(_pieces(zip(characters, shifts, strict=True)))


def _pieces(pairs: Iterable[tuple[str, str]]) -> Iterator[Piece]:
    """Join characters of one shift. A raised word of letters is no exponent, but follows a large initial."""
    for shift, group in groupby(pairs, key=lambda pair: pair[1]):
        text = "".join(character for character, _ in group)
        yield Piece(text, "" if text.isalpha() and len(text) >= _WORD else shift)


def _character(text_page: ctypes.c_void_p, index: int, turn: int) -> _Character:
    import pypdfium2.raw as pdfium

    box, x, y = pdfium.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
    pdfium.FPDFText_GetCharOrigin(text_page, index, x, y)
    _, bottom, _, top = rotate_box(box.left, box.bottom, box.right, box.top, turn)
    _, baseline, _, _ = rotate_box(x.value, y.value, x.value, y.value, turn)
    return _Character(top - bottom, baseline)


def _shift(character: _Character, height: float, baseline: float) -> str:
    if character.height > _SMALLER * height:
        return ""
    shift = (character.baseline - baseline) / height
    return "raised" if shift > _RAISED else "lowered" if shift < _LOWERED else ""


def joined_with_raised(last: Word, word: Word) -> Word | None:
    """Return both words as one if the second is a raised number or sign that stands directly after the first."""
    height, last_height = word.top - word.bottom, last.top - last.bottom
    is_raised = height < _SMALLER * last_height and word.bottom > last.bottom + _RAISED * last_height
    gap = word.x0 - last.x1
    if not is_raised or not -_ADJACENT * last_height < gap < _ADJACENT * last_height or word.text.isalpha():
        return None
    return Word(last.text + raised(word.text), last.x0, max(last.x1, word.x1), last.bottom, last.top)

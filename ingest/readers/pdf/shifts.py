"""Finds raised and lowered characters of a word by their size and baseline, so that 10⁶ does not become 106."""

from __future__ import annotations

import ctypes
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfTextPage

from ingest.readers.pdf.drawing import rotate_box
from ingest.readers.pdf.styles import is_upright
from ingest.readers.pdf.words import Found, Word
from ingest.readers.shared.form import Piece, lowered, raised, write_pieces

_SMALLER = 0.86  # of the size of the word: shifted characters are at most this high
_RAISED, _LOWERED = 0.12, -0.06  # of the size of the word: from here on a baseline is raised or lowered
_SHIFTED = re.compile(r"(?!\w*[^\W\d_]{3})[\w+−–.,;()\[\]*†‡§′″”’∗-]+")  # numbers, signs, few letters
_SCRIPT = re.compile(r"\^(?:\w+|\([^()]*\))$"), re.compile(r"_(?:\w+|\([^()]*\))$")
"""A superscript at the end of a word, which may have a subscript below it, and a subscript."""
_DIGIT = 0.35, 0.54  # of the height of a line: the ink of a digit begins below and ends above
_INK = 0.45, 0.32  # of that height: the ink of a lowered digit is lower, and reaches less far above the line
_WORD = 3  # letters
_ADJACENT = 0.25  # of the height of a word: maximum gap before raised characters that belong to it


Extent = tuple[float, float]
"""The bottom and top of a character."""


class _Character(NamedTuple):
    text: str
    height: float
    baseline: float


def may_be_shifted(text: str, first: Extent, last: Extent) -> bool:
    """Return whether to look at each character of a word, given the bottom and top of its first and last ones.

    Looking costs a call of PDFium for each. Words of letters and figures, such as H₂O, may be shifted inside.
    """
    if len(text) < 2:
        return False
    heights = first[1] - first[0], last[1] - last[0]
    if min(heights) < _SMALLER * max(heights) or abs(first[0] - last[0]) > _RAISED * max(heights):
        return True
    return any(character.isdigit() for character in text[1:]) and any(character.isalpha() for character in text)


def ends_with_small_digit(text_page: PdfTextPage, text: str, start: int, extent: Extent) -> bool:
    """Return whether the last digit of a word is raised or lowered by its font. ``extent`` is that of any digit."""
    last = len(text.rstrip(".,;:)]")) - 1
    if last < 1 or not text[last].isdigit():
        return False
    _, bottom, _, top = text_page.get_charbox(start + last)
    height = extent[1] - extent[0]
    return bool(bottom > extent[0] + _DIGIT[0] * height or top < extent[0] + _DIGIT[1] * height)


def with_shifts(text_page: PdfTextPage, characters: Sequence[str], start: int, turn: int) -> str:
    """Return the characters as a word, with raised and lowered ones marked. ``start`` is the index of the first."""
    if not is_upright(pdfium.FPDFText_GetCharAngle(text_page, start), turn):
        return "".join(characters)
    found = [_character(text_page, start + index, text, turn) for index, text in enumerate(characters) if text]
    height = max(character.height for character in found)
    full = (round(character.baseline, 1) for character in found if character.height > _SMALLER * height)
    baseline = Counter(full).most_common(1)[0][0]  # the first one of several: words begin on their line
    shifts = [_shift(character, height, baseline) for character in found]
    for at, (each, after) in enumerate(zip(found, shifts[1:], strict=False)):
        if each.text == "\u2212" and not shifts[at]:  # a minus is raised like the digit after it
            shifts[at] = after
    if shifts[0] and all(each.text.isdigit() for each in found):  # Persian zeros are raised in their font
        return "".join(characters)
    return write_pieces(_pieces(zip((each.text for each in found), shifts, strict=True)))


def _pieces(pairs: Iterable[tuple[str, str]]) -> Iterator[Piece]:
    """Join characters of one shift. A raised word of letters is no exponent, but follows a large initial."""
    for shift, group in groupby(pairs, key=lambda pair: pair[1]):
        text = "".join(character for character, _ in group)
        yield Piece(text, "" if text.isalpha() and len(text) >= _WORD else shift)


def _character(text_page: PdfTextPage, index: int, text: str, turn: int) -> _Character:
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text_page, index, x, y)
    _, bottom, _, top = rotate_box(text_page.get_charbox(index, loose=True), turn)
    _, baseline, _, _ = rotate_box((x.value, y.value, x.value, y.value), turn)
    height = top - bottom
    if text.isdigit() and not turn:
        _, bottom, _, top = text_page.get_charbox(index)
        is_raised = bottom > baseline + _RAISED * height
        is_small = top - bottom < _INK[0] * height and top < baseline + _INK[1] * height
        is_lowered = is_small and bottom < baseline + _LOWERED * height
        baseline = bottom if is_raised else bottom + _LOWERED * height if is_lowered else baseline
    return _Character(text, height, baseline)


def _shift(character: _Character, height: float, baseline: float) -> str:
    shift = (character.baseline - baseline) / height
    is_small = character.height <= _SMALLER * height
    if not is_small and not character.text.isalnum():  # signs of another font
        return ""
    return "raised" if shift > _RAISED else "lowered" if shift < (_LOWERED if is_small else -_RAISED) else ""


def joined_with_shifted(last: Word, word: Word) -> Word | None:
    """Return both words as one if the second is a shifted number or sign that stands directly after the first."""
    height, last_height = word.top - word.bottom, last.top - last.bottom
    is_raised = last.bottom + _RAISED * last_height < word.bottom < last.top
    is_lowered = last.bottom + height / 4 < word.top < last.top - _RAISED * last_height and word.bottom < last.bottom
    if height >= _SMALLER * last_height or not (is_raised or is_lowered):
        return None
    is_stacked = last.x0 < word.x0 < last.x1 and bool(_SCRIPT[is_raised].search(last.text))
    is_adjacent = is_stacked or -_ADJACENT * last_height < word.x0 - last.x1 < _ADJACENT * last_height
    if (word.text.isalpha() and not is_stacked) or not _SHIFTED.fullmatch(word.text) or not is_adjacent:
        return None
    shifted = (raised if is_raised else lowered)(word.text)
    return Word(last.text + shifted, last.x0, max(last.x1, word.x1), last.bottom, last.top)


def rejoined(words: Sequence[Found]) -> list[Found]:
    """Return the words with each shifted number that is drawn apart from its word directly after it.

    Some programs draw the raised and lowered print of a page after all of its lines.
    """
    ends = sorted((word.x1, at) for at, (_, word, _) in enumerate(words) if word.text)
    tallest = max((word.top - word.bottom for _, word, _ in words), default=0)
    after: dict[int, list[int]] = {}
    for at, (_, word, _) in enumerate(words):
        if word.top - word.bottom < _SMALLER * tallest and word.text and _SHIFTED.fullmatch(word.text):
            first, end = (
                bisect_left(ends, (word.x0 + reach,)) for reach in (-_ADJACENT * tallest, _ADJACENT * tallest)
            )
            near = (base for _, base in ends[first:end] if joined_with_shifted(words[base][1], word))
            if (base := next(near, at - 1)) != at - 1:
                after.setdefault(base, []).append(at)
    moved = {at for places in after.values() for at in places}

    def placed(at: int) -> Iterator[Found]:
        index, word, ends_line = words[at]
        yield index, word, ends_line or at + 1 in moved
        for place in after.get(at, ()):
            yield from placed(place)

    return [found for at in range(len(words)) if at not in moved for found in placed(at)] if moved else list(words)

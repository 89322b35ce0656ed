"""Defines a word of a PDF page with its box, in points from the lower left corner. Removes dot leaders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

ON_ONE_LINE = 0.8  # minimum vertical overlap of words on one line, as a share of their height
_LEADER = re.compile(r"\.{4,}|…{2,}|·{4,}")
_DOTS = re.compile(r"^[.…·]+$")
_DOT = ".…·"
_RUN = "...."
_FEWEST = 3  # minimum consecutive words of dots, such as three dots separated by spaces


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    x0: float
    x1: float
    bottom: float
    top: float

    @property
    def middle(self) -> tuple[float, float]:
        return (self.x0 + self.x1) / 2, (self.bottom + self.top) / 2


Found = tuple[int, Word, bool]
"""A word with the index of its first character, and whether a line ends after it."""


def overlaps(last: Word, word: Word, share: float = 0.3) -> bool:
    """Return whether two words overlap vertically."""
    overlap = min(last.top, word.top) - max(last.bottom, word.bottom)
    return overlap > share * min(last.top - last.bottom, word.top - word.bottom)


def without_leaders(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words of a line without dot leaders. Keeps dots at the ends of the line, such as blanks in a form."""
    if not any(word.text[-1] in _DOT or word.text[0] in _DOT or _RUN in word.text for word in words):
        return words
    if not any(_LEADER.search(word.text) or _DOTS.match(word.text) for word in words):
        return words
    kept: list[Word] = []
    dots: list[Word] = []
    for part in (part for word in words for part in _parts(word)):
        if _DOTS.match(part.text):
            dots.append(part)
            continue
        if len(dots) < _FEWEST and not any(_LEADER.match(word.text) for word in dots):
            kept += dots
        dots = []
        kept.append(part)
    leads = kept and kept[-1].x1 == words[-1].x1
    return kept if leads and kept[0].x0 == words[0].x0 else words


def _parts(word: Word) -> Iterator[Word]:
    """Yield the parts of the word before, in and after leaders. Assumes that all characters have the same width."""
    ends = [0, *(end for leader in _LEADER.finditer(word.text) for end in leader.span()), len(word.text)]
    width = (word.x1 - word.x0) / len(word.text)
    for start, end in pairwise(ends):
        if start < end:
            yield replace(word, text=word.text[start:end], x0=word.x0 + start * width, x1=word.x0 + end * width)

"""Defines a word of a PDF page with its box, in points from the lower left corner of the page."""

from __future__ import annotations

from dataclasses import dataclass

ON_ONE_LINE = 0.8  # minimum vertical overlap of words on one line, as a share of their height


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

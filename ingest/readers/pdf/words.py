"""Defines a word of a PDF page with its box, in points from the lower left corner of the page."""

from __future__ import annotations

from dataclasses import dataclass


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

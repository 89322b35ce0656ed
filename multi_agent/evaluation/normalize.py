"""Answers as they are compared: SQuAD's normalisation, and the numbers in a text with their scale.

SQuAD's: lower case, no punctuation, no English articles, single spaces (Rajpurkar et al. 2016, the official evaluation
script). It is the field's yardstick for English; in other languages their articles stay.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from multi_agent.records.numbers_and_dates import read_number

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NUMBER = re.compile(
    r"(?P<sign>[-−]?)(?P<digits>(?<!\w)\d{1,3}(?: \d{3})+(?!\d)|\d(?:[\d.,'’\u00a0\u202f]*\d)?)"
    r"[ \u00a0]?(?P<scale>[^\W\d_]+)?"
)
# Short scale, as in English and in financial reports.
_SCALES = {
    "thousand": 3, "k": 3, "million": 6, "millions": 6, "mn": 6, "billion": 9, "billions": 9, "bn": 9,
    "trillion": 12, "trillions": 12, "tn": 12,
}  # fmt: skip
_LETTERS = {"m": 6, "b": 9}  # 5 m may be five metres, $5M five million


def normalised(text: str) -> str:
    """The text as SQuAD compares it."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def token_f1(said: str, accepted: str) -> float:
    """Harmonic mean of the precision and recall of normalised words, 0 to 1; of two empty answers 1."""
    ours, theirs = normalised(said).split(), normalised(accepted).split()
    if not ours or not theirs:
        return float(ours == theirs)
    common = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * common / (len(ours) + len(theirs))


def stands_in(accepted: str, said: str) -> bool:
    """Whether the normalised words of one stand in the other, together and in order."""
    needle = normalised(accepted)
    return bool(needle) and f" {needle} " in f" {normalised(said)} "


class Amount(NamedTuple):
    """A number in a text."""

    values: frozenset[Decimal]
    """Every value that it can have: '1,234' is two of them, and so is '5M'."""
    behind: str
    """The text behind it and its scale: a unit, if nothing else follows."""


def amounts_in(text: str) -> Iterator[Amount]:
    """The numbers in the text, in order."""
    for match in _NUMBER.finditer(text):
        joined = match.start() > 0 and text[match.start() - 1].isalnum()  # 2023-10, A12: no sign, or no number
        sign = -1 if match["sign"] and not joined else 1
        scale = (match["scale"] or "").lower()
        digits = _SCALES.get(scale)
        behind = text[match.end("digits" if digits is None else "scale") :].strip(" \u00a0.")
        if values := read_number(match["digits"]):
            powers = {digits or 0, _LETTERS.get(scale, digits or 0)}
            yield Amount(frozenset(sign * value * Decimal(10) ** power for value in values for power in powers), behind)

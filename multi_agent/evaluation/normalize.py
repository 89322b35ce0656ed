"""Normalizes answers for comparison, and finds the numbers in a text.

SQuAD normalization: lower case, no punctuation, no English articles, single spaces (Rajpurkar et al. 2016, the official
evaluation script). Articles of other languages are kept.
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
_LETTERS = {"m": 6, "b": 9}  # ambiguous: 5 m may be five metres, $5M is five million


def normalize_answer(text: str) -> str:
    """Return the text with SQuAD normalization."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def token_f1(answer: str, accepted: str) -> float:
    """Return the F1 of the normalized words, 0 to 1. Two empty answers give 1."""
    ours, theirs = normalize_answer(answer).split(), normalize_answer(accepted).split()
    if not ours or not theirs:
        return float(ours == theirs)
    common = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * common / (len(ours) + len(theirs))


def contains_phrase(phrase: str, text: str) -> bool:
    """Return whether the normalized text contains the normalized phrase as consecutive words."""
    needle = normalize_answer(phrase)
    return bool(needle) and f" {needle} " in f" {normalize_answer(text)} "


class Amount(NamedTuple):
    """A number in a text, with its possible values."""

    values: frozenset[Decimal]
    """All readings: '1,234' has two, and so has '5M'."""
    suffix: str
    """The text after the number and its scale. It may start with a unit."""


def find_amounts(text: str) -> Iterator[Amount]:
    """Yield the numbers in the text, in order."""
    for match in _NUMBER.finditer(text):
        # In 2023-10 the hyphen is not a minus sign.
        joined = match.start() > 0 and text[match.start() - 1].isalnum()
        sign = -1 if match["sign"] and not joined else 1
        scale = (match["scale"] or "").lower()
        digits = _SCALES.get(scale)
        suffix = text[match.end("digits" if digits is None else "scale") :].strip(" \u00a0.")
        if values := read_number(match["digits"]):
            powers = {digits or 0, _LETTERS.get(scale, digits or 0)}
            yield Amount(frozenset(sign * value * Decimal(10) ** power for value in values for power in powers), suffix)

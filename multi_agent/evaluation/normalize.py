"""Normalizes answers for comparison.

SQuAD normalization: lower case, no punctuation, no English articles, single spaces (Rajpurkar et al. 2016, the official
evaluation script). Articles of other languages are kept.
"""

from __future__ import annotations

import re
import string
from collections import Counter

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


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

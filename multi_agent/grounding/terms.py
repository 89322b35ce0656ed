"""The figures, names and words of a text, and whether another text contains them.

The rules hold for any language: a figure has a digit, a name has a capital letter inside a sentence, and words below
five letters are ignored, since most of them are grammatical. In scripts without spaces, pairs of characters are
compared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from multi_agent.grounding.quotes import fold, has_spaceless
from multi_agent.records.numbers_and_dates import find_amounts, read_number

_TOKEN = re.compile(r"[^\W_]+(?:[.,:/'’-][^\W_]+)*")
_JOINTS = re.compile(r"[.,:/'’-]")
_PLAIN_FIGURE = re.compile(r"\d[\d.,'’]*[^\W\d_]*")
_SCALE = 12  # characters after a figure that may hold its scale, such as "million"
_PARTS = re.compile(r"(?<=[.!?])(?=\s)|(?<=\n)")
_STATEMENT = 3  # minimum words of a statement
_MIN_WORD = 5
_STEM = 0.75  # share of the shorter word that two forms of a word have in common
_MIN_STEM = 4  # letters at the beginning that two forms of a word or of a name have in common


class Term(NamedTuple):
    """A figure, name or word."""

    text: str
    kind: Literal["figure", "name", "word"]
    values: frozenset[Decimal] = frozenset()
    """The possible values of a figure."""


@lru_cache(maxsize=512)  # the checks of an answer look up its question and each claim several times
def find_terms(text: str, min_word: int = _MIN_WORD) -> tuple[Term, ...]:
    """Return the terms of a text, in order. Words with fewer letters than ``min_word`` are left out."""
    return tuple(_terms(text, min_word))


def _terms(text: str, min_word: int) -> Iterator[Term]:
    folded = fold(text)
    for index, token in enumerate(_TOKEN.finditer(folded)):
        if any(map(str.isdigit, token[0])):
            yield Term(token[0], "figure", _values(folded, token))
            continue
        for piece in _JOINTS.split(token[0]):
            if len(piece) > 1 and (piece[1:] != piece[1:].lower() or (index and piece[0].isupper())):
                yield Term(piece, "name")
            elif len(piece) >= min_word or has_spaceless(piece):
                yield Term(piece, "word")


def words_of(text: str) -> list[str]:
    """Return all words and figures of a text in lower case, without punctuation."""
    return [token.casefold() for token in _TOKEN.findall(fold(text))]


def without_own(text: str, given: Iterable[str], quoted: Iterable[str]) -> str:
    """Return the result of a tool without the sentences that repeat an argument. Sentences already quoted stay.

    The model wrote them, so they prove nothing. One or two words are left out if they are all of a given text.
    """
    own, known = ({f" {' '.join(words_of(each))} " for each in texts} for texts in (given, quoted))
    parts = ((part, f" {' '.join(words_of(part))} ") for part in _PARTS.split(text))
    return "".join(part for part, said in parts if not said.strip() or _are_in(said, known) or not _are_in(said, own))


def _are_in(said: str, texts: Collection[str]) -> bool:
    return said in texts or (len(said.split()) >= _STATEMENT and any(said in each for each in texts))


class TermIndex:
    """The terms of a text. ``term in index`` looks up a term."""

    def __init__(self, text: str) -> None:
        self._text = fold(text).casefold()
        self._tokens = tokens = set(_TOKEN.findall(self._text))
        self._words = tokens | {piece for token in tokens for piece in _JOINTS.split(token)}
        self._by_stem: defaultdict[str, list[str]] = defaultdict(list)
        for word in self._words:
            self._by_stem[word[:_MIN_STEM]].append(word)

    @cached_property
    def amounts(self) -> frozenset[Decimal]:
        """The possible values of all figures."""
        found = {value for amount in find_amounts(self._text) for value in amount.values}
        return frozenset(found.union(*(read_number(token) for token in self._tokens if token[0].isdigit())))

    def __contains__(self, term: Term) -> bool:
        word = term.text.casefold()
        if word in self._words:
            return True
        if term.kind == "figure":
            return not self.amounts.isdisjoint(term.values)
        if has_spaceless(word):
            return all(one + other in self._text for one, other in pairwise(word))
        is_form = _is_form_of_name if term.kind == "name" else _is_form_of_word
        return any(is_form(word, other) for other in self._by_stem.get(word[:_MIN_STEM], ()))


def _values(text: str, token: re.Match[str]) -> frozenset[Decimal]:
    """Return the readings of a plain figure with its scale. Times, dates and codes are compared as they are written."""
    if not _PLAIN_FIGURE.fullmatch(token[0]):
        return frozenset()
    amount = next(find_amounts(text[token.start() : token.end() + _SCALE]), None)
    return amount.values if amount else frozenset()


def _is_form_of_name(name: str, other: str) -> bool:
    """Return whether two names differ by one letter at the end, as in a genitive."""
    shorter, longer = sorted((name, other), key=len)
    return len(shorter) >= _MIN_STEM and longer.startswith(shorter) and len(longer) - len(shorter) <= 1


def _is_form_of_word(word: str, other: str) -> bool:
    common = next((at for at, (one, two) in enumerate(zip(word, other, strict=False)) if one != two), None)
    shorter = min(len(word), len(other))
    return (shorter if common is None else common) >= max(_MIN_STEM, _STEM * shorter)

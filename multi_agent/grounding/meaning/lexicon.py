"""Loads the word lists of each language from ``lexicon.toml``, and the names of currencies from CLDR."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

_CURRENCY_LANGUAGES = ("en", "de", "fr", "es")
_KNOWN = 0.3  # share of grammatical words that a text of a known language has
_LONGEST_UNIT = 3  # words, such as "US dollars" or "degrees Celsius"
_FEW = 3  # words without grammar, such as a name and a figure


class Side(NamedTuple):
    """A side of a group of opposites."""

    group: str
    number: int
    same: bool
    """Whether the words of the side mean the same."""
    turned: bool
    """Whether the other side states the same fact with exchanged roles: "A paid B", "B received from A"."""


class Lexicon:
    """The grammatical words, operators and opposites of one language."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.function = frozenset(data["function"].split())
        self.negation = frozenset(data["negation"].split())
        self.answers = frozenset(data.get("answers", "").split())
        self.conjunctions = frozenset(data["conjunctions"].split())
        self.articles, self.pronouns = frozenset(data["articles"].split()), frozenset(data["pronouns"].split())
        self.joining = frozenset(data["joining"].split())
        self.subordinating = frozenset(data["subordinating"].split())
        self.pairing = frozenset(data["pairing"].split())
        self.relative = frozenset(data["relative"].split())
        self.places = frozenset(data["places"].split())
        self.roles = frozenset(data["markers"]["role"].split())
        self.strong = frozenset(data["markers"]["strong"].split())
        self.than = frozenset(data["markers"].get("than", "").split())
        self.copulas = frozenset(data["markers"]["copula"].split())
        self.indefinite = frozenset(data["markers"]["indefinite"].split())
        self.agents = frozenset(data["agent"].split())
        self.minus = frozenset(data["minus"].split())
        self.numbers = _numbers(data)
        self.ordinals = {word: at for at, word in enumerate(data["ordinals"].split(), 1)}
        self.groups = data["groups"]
        self.halves, self.below_zero = (
            [tuple(phrase.split()) for phrase in data.get(name, "").split(";") if phrase]
            for name in ("half", "below_zero")
        )
        self.case_articles = frozenset(data.get("case_articles", "").split())
        self.links = {word: name for name in ("alternative", "addition") for word in data.get(name, "").split()}
        self.between = frozenset(data.get("between", "").split())
        self.operators = {
            tuple(phrase.split()): operator
            for operator, phrases in data["operators"].items()
            for phrase in phrases.split(";")
            if phrase.strip()
        }
        self.longest = max(map(len, self.operators))
        self._grammar = self.function | self.negation | {phrase[0] for phrase in self.operators}
        self._sides, self._stems = _read_opposites(data["opposites"])
        self.sides = lru_cache(maxsize=4096)(self._find_sides)
        rows = (row.split() for row in data.get("forms", {}).get("words", "").replace("\n", "/").split("/"))
        self.forms = {word: row[0] for row in rows for word in row}

    def _find_sides(self, word: str) -> frozenset[Side]:
        """Return the sides of opposites that have the word."""
        stems = (word[:length] for length in range(2, len(word) + 1))
        return frozenset().union(self._sides.get(word, ()), *(self._stems.get(stem, ()) for stem in stems))

    def knows(self, words: Iterable[str]) -> float:
        """Return the share of the words that are grammar of this language."""
        words = list(words)
        return sum(word in self._grammar for word in words) / max(1, len(words))


class Quantities:
    """Units, currencies and scales by their written forms."""

    def __init__(self, data: Mapping[str, str]) -> None:
        scales = (row.split() for row in data["scales"].replace("\n", "/").split("/") if row.strip())
        self.scales = {word: Decimal(10) ** int(power) for power, *words in scales for word in words}
        units = (row.split() for row in data["units"].replace("\n", "/").split("/") if row.strip())
        self.units = {word: name for name, *words in units for word in (name, name.casefold(), *words)}
        self._currencies = data["currencies"]
        self._found = lru_cache(maxsize=4096)(self._find)

    @cached_property
    def currencies(self) -> dict[str, str]:
        """ISO codes by the names, codes and signs of currencies."""
        from babel import Locale

        named: dict[str, str] = {
            str(name).casefold(): str(code)
            for language in _CURRENCY_LANGUAGES
            for code, name in (*_plurals(Locale(language)), *Locale(language).currencies.items())
            if len(str(name)) > 2  # "or" is gold in French: "$4 billion or 16%"
        }
        rows = (row.split() for row in self._currencies.split("/"))
        codes = {str(code): str(code) for code in Locale("en").currencies}
        return named | codes | {word: code for code, *words in rows for word in words}

    def unit(self, words: Sequence[str]) -> tuple[str, int]:
        """Return the unit or currency at the beginning of the words, and the number of its words."""
        return self._found(tuple(words[:_LONGEST_UNIT]))

    def _find(self, words: tuple[str, ...]) -> tuple[str, int]:
        for length in range(len(words), 0, -1):
            written = " ".join(words[:length])
            folded = written.casefold()
            unit = self.units.get(written) or self.units.get(folded) or (length > 1 and self.units.get(_joined(folded)))
            if found := unit or self.currencies.get(written) or self.currencies.get(folded):
                return found, length
        return "", 0


def _joined(phrase: str) -> str:
    """Return a unit of two words as the list names it: "percentage points" as "percentage_point"."""
    words = phrase.replace(" - ", " ").split()
    return "_".join(word.removesuffix("s") if word != "celsius" else word for word in words)


def _plurals(locale: Any) -> list[tuple[str, str]]:
    from babel.numbers import get_currency_name

    return [(code, get_currency_name(code, count=2, locale=locale)) for code in locale.currencies]


def _numbers(data: Mapping[str, str]) -> dict[str, int]:
    units = {word: at for at, word in enumerate(data["numbers"].split()) if word != "-"}
    tens = {word: 10 * at for at, word in enumerate(data["tens"].split(), 2)}
    return units | tens | dict.fromkeys(data.get("one", "").split(), 1)


def _read_opposites(groups: Mapping[str, str]) -> tuple[dict[str, set[Side]], dict[str, set[Side]]]:
    """Return the sides by whole word, and by the beginning of a word."""
    whole: dict[str, set[Side]] = {}
    begin: dict[str, set[Side]] = {}
    for group, text in groups.items():
        mark, _, words = text.rpartition(":")
        for number, side in enumerate(words.split("/")):
            for word in side.split():
                found = begin if word.endswith("*") else whole
                found.setdefault(word.rstrip("*"), set()).add(Side(group, number, mark == "same", mark == "turned"))
    return whole, begin


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "lexicon.toml").read_text(encoding="utf-8"))


@cache
def lexicons() -> dict[str, Lexicon]:
    """Return the lexicon of each known language."""
    return {name: Lexicon(data) for name, data in _data().items() if "function" in data}


@cache
def quantities() -> Quantities:
    """Return the units, currencies and scales."""
    return Quantities(_data()["quantities"])


@cache
def peoples() -> dict[str, str]:
    """Return the country of each name of a country, people or language in the list."""
    rows = (row.split() for row in _data()["names"]["people"].replace("\n", "/").split("/"))
    return {word: row[0] for row in rows for word in row}


@lru_cache(maxsize=64)  # a claim is read with its quotes several times
def lexicon_for(words: tuple[str, ...]) -> Lexicon | None:
    """Return the lexicon of the language of the words. None if no lexicon knows them.

    A few words without any grammar, such as names and figures, are read as English.
    """
    plain = [word for word in words if word.isalpha()]
    best = max(lexicons().values(), key=lambda each: each.knows(plain))
    if best.knows(plain) >= _KNOWN or len(plain) <= _FEW:
        return best
    return _detected(" ".join(words), best, has_grammar=best.knows(plain) > 0)


def _detected(text: str, best: Lexicon, *, has_grammar: bool) -> Lexicon | None:
    from vectorstore.text.languages import detect, detect_surely

    found = lexicons().get(detect(text) if has_grammar else detect_surely(text))
    return found if found is best or not has_grammar else None

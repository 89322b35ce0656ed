"""Decides whether two tokens have the same meaning, exclude each other, or are of the same kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from multi_agent.errors import ToolError
from multi_agent.grounding.meaning.lexicon import Lexicon, Side, peoples, quantities
from multi_agent.grounding.meaning.reading import Token
from multi_agent.records.units import convert

_ENDINGS = frozenset({
    "", "s", "es", "e", "ed", "d", "ing", "y", "ies", "ied", "ying", "n", "en", "er", "em", "et", "t", "te", "st", "nd",
})  # fmt: skip
_ORGANISE = re.compile(r"(?<=..)([iy])s(e|es|ed|ing|ation|ations|er|ers)$")
_COLOUR = re.compile(r"(?<=...)our(?=(?:s|ed|ing|able|al|ful|ite|ites)?$)")
_CENTRE = re.compile(r"tre(?=[sd]?$)")
_MIN_STEM, _COMMON = 5, 0.75
_MOST_ENDING = 5
_OPPOSING = frozenset({"less", "ful"})
_GRADES = ("st", "est", "iest", "r", "er", "ier")  # "largest", "larger"; but a teacher teaches
_NEGATED = ("un", "in", "im", "ir", "il", "dis", "non", "mis")
_DEMONYMS = ("an", "ian", "ese", "ish", "i", "ic", "er")
_SCALES = frozenset(Decimal(1000) ** power for power in range(-4, 5))
_EXACT, _ROUND = Decimal("1e-9"), Decimal("0.02")  # shares of a value
_FIRST_CELL = 1
_MONTH = Decimal("0.1")  # "three months" for 12 weeks


class _Told(NamedTuple):
    units: frozenset[str]
    scales: set[Decimal]


class Matcher:
    """Compares tokens. ``context`` has the tokens of the headings, table headers and document names of the quotes.

    ``around`` returns the tokens of the passages of the quotes. From them come the units and scales that a cell without
    a unit may have: "(in millions)" is above the table, and "$" is in its first row.
    """

    def __init__(
        self, lexicon: Lexicon, context: Sequence[Token], around: Callable[[], Sequence[Token]] = tuple
    ) -> None:
        self._lexicon, self.context, self._around = lexicon, context, around
        self._told: dict[int, _Told] = {}
        self._in_context: dict[Token, bool] = {}

    def _told_of(self, quote: Token) -> _Told:
        """Return the units and scales that the context states for a token, for a cell those of its own column."""
        column = quote.segment if quote.in_row else 0
        if column not in self._told:
            rows = groupby(self.context, key=lambda token: (token.in_row, token.sentence))
            heads = [token for _, row in rows for token in _heads(list(row), column)]
            self._told[column] = _Told(_units_of(heads), _scales_of(heads))
        return self._told[column]

    @cached_property
    def _told_around(self) -> _Told:
        around = self._around()
        return _Told(_units_of([*self.context, *around]), _scales_of(around))

    def in_context(self, token: Token) -> bool:
        if token not in self._in_context:
            self._in_context[token] = any(self.same(token, each) for each in self.context)
        return self._in_context[token]

    def same(self, claim: Token, quote: Token) -> bool:
        """Return whether the quote's token states that of the claim."""
        if claim.dates or quote.dates:
            return self._same_date(claim, quote)
        if claim.values or quote.values:
            return bool(claim.values and quote.values) and self._same_figure(claim, quote)
        return _same_word(claim.text, quote.text, self._lexicon, are_names=claim.is_name and quote.is_name)

    def excludes(self, claim: Token, quote: Token) -> bool:
        """Return whether both cannot be true in one place."""
        if claim.values and quote.values:
            kind = _same_kind(claim, quote)
            return (kind or _same_digits(claim, self._headed(claim, quote))) and not is_rounded(claim, quote)
        if claim.dates and quote.dates:
            return len(claim.text) > 1 and _comparable(claim, quote)
        return claim.kind in ("word", "name") and (self.opposed(claim, quote) or _negates(claim.text, quote.text))

    def lacks_unit(self, claim: Token, quote: Token) -> bool:
        """Return whether a cell without a unit or scale may state the figure of the claim.

        A bare cell may be an amount, a ratio or a price per share, so such a claim is left open.
        """
        if not (quote.in_row and claim.values and quote.values):
            return False
        quote = self._headed(claim, quote)
        if quote.unit not in ("", claim.unit):
            return False
        units = _alike(claim.unit, self._told_around.units)
        ratios = {abs(mine / yours) for mine in claim.values for yours in quote.values if yours}
        known = self._told_of(quote).scales or self._told_around.scales
        return bool(ratios & ({Decimal(1), *known} if known else _SCALES)) and (not units or claim.unit in units)

    def _headed(self, claim: Token, quote: Token) -> Token:
        """Return a cell without a unit with that of its column header, if the claim has a unit of the same kind."""
        if not claim.unit or quote.unit:
            return quote
        units = self._told_of(quote).units
        alike = _alike(claim.unit, units) if quote.in_row else units & {claim.unit}
        unit = claim.unit if claim.unit in units else min(alike, default="")
        return quote._replace(unit=unit) if unit else quote

    def rivals(self, one: Token, other: Token) -> bool:
        """Return whether the other token is of the same kind as the first, with another value."""
        if one.text == other.text:
            return False
        if one.values and other.values:
            return one.unit == other.unit and not self._same_figure(one, other)
        return bool(one.dates and other.dates) or (one.is_name and other.is_name) or self.opposed(one, other)

    def opposed(self, one: Token, other: Token) -> bool:
        """Return whether the words are on different sides of a group of opposites, and on no common side."""
        return _are_opposed(self._lexicon.sides(one.text), self._lexicon.sides(other.text))

    def converse(self, one: Token, other: Token) -> bool:
        """Return whether the words can state the same fact with exchanged roles."""
        groups = {side.group for side in self._lexicon.sides(one.text) if side.turned}
        return self.opposed(one, other) and any(side.group in groups for side in self._lexicon.sides(other.text))

    def _same_date(self, claim: Token, quote: Token) -> bool:
        if claim.values or quote.values:  # "2000" may be a year or a figure
            return bool(_years(claim) & _years(quote))
        return any(
            all(part is None or part == known for part, known in zip(one, other, strict=True))
            for one in claim.dates
            for other in quote.dates
        )

    def _same_figure(self, claim: Token, quote: Token) -> bool:
        quote = self._headed(claim, quote)
        if claim.unit and not quote.unit:
            return False
        scaled = {value * scale for value in quote.values for scale in self._told_of(quote).scales}
        if claim.values & (quote.values | scaled) and claim.unit in ("", quote.unit):
            return True
        if claim.values & quote.values and _are_degrees(claim.unit, quote.unit):
            return True
        return bool(claim.unit) and claim.unit != quote.unit and _equal(claim, quote)


@lru_cache(maxsize=16384)  # each word of a claim is compared with all of its quotes
def _same_word(one: str, other: str, lexicon: Lexicon, *, are_names: bool) -> bool:
    """Return whether two words mean the same."""
    mine, yours = lexicon.sides(one), lexicon.sides(other)
    means_same = any(side.same for side in mine & yours)
    one, other = _spelled(one), _spelled(other)
    if one == other or lexicon.forms.get(one, one) == lexicon.forms.get(other, other):
        return True
    if means_same or same_country(one, other):
        return True
    if not _is_form(one, other, _OPPOSING, are_names=are_names):  # first, since few words are
        return False
    if _are_opposed(mine, yours) or _negates(one, other):
        return False
    grades = _GRADES if lexicon.sides(one) & lexicon.sides(other) else _GRADES[:3]
    return _is_form(one, other, _OPPOSING.union(grades), are_names=are_names)


def _are_opposed(mine: Set[Side], yours: Set[Side]) -> bool:
    numbers = {(side.group, side.number) for side in mine} & {(side.group, side.number) for side in yours}
    return not numbers and bool({side.group for side in mine} & {side.group for side in yours})


def _heads(row: Sequence[Token], column: int) -> Sequence[Token]:
    """Return the header cells of a column: the first cell of the header row, and the cell above the column.

    The cell above may span several columns. Returns all cells if ``row`` is no header row or has none for the column.
    """
    last = max((token.segment for token in row), default=0)
    if not column or column > last or not row[0].in_row:
        return row
    own = max((token.segment for token in row if token.segment <= column), default=column)
    return [token for token in row if token.segment in (_FIRST_CELL, own)]


@lru_cache(maxsize=4096)
def _spelled(word: str) -> str:
    """Return the word in American spelling: "organized" for "organised", "center" for "centre"."""
    return _CENTRE.sub("ter", _COLOUR.sub("or", _ORGANISE.sub(r"\1z\2", word)))


def _is_form(one: str, other: str, excluding: frozenset[str], *, are_names: bool) -> bool:
    """Return whether two words differ only by an ending that keeps their meaning."""
    common = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rests = one[common:], other[common:]
    if excluding & set(rests) or ("ee" in rests[0][:2]) != ("ee" in rests[1][:2]):
        return False
    double = one[common - 1 : common]  # "plan", "planned"
    if common >= 3 and all(rest in _ENDINGS or rest.removeprefix(double) in _ENDINGS for rest in rests):
        return not are_names or min(map(len, rests)) == 0
    long_enough = common >= max(_MIN_STEM, _COMMON * min(len(one), len(other)))
    return not are_names and long_enough and max(map(len, rests)) <= _MOST_ENDING


def _negates(one: str, other: str) -> bool:
    """Return whether one word is the other with a negating prefix: "unsafe", "safe"."""
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and any(long == prefix + short for prefix in _NEGATED)


def same_country(one: str, other: str) -> bool:
    """Return whether the words name one country, or what is from there."""
    known = peoples()
    if one in known or other in known:
        return known.get(one, one) == known.get(other, other)
    country, people = (one, other) if one in _countries() else (other, one)
    stem = country[: max(4, len(country) - 2)]
    return country in _countries() and people.startswith(stem) and people.endswith(_DEMONYMS)


def country(word: str) -> str:
    """Return the country of a country name, nationality or language. Empty if the word is none of them."""
    return peoples().get(word, word if word in _countries() else "")


@cache
def _countries() -> frozenset[str]:
    from babel import Locale

    return frozenset(str(name).casefold() for name in Locale("en").territories.values())


def _scales_of(tokens: Sequence[Token]) -> set[Decimal]:
    """Return the scales without a number before them: "in millions", but not "5 million" or "Form 10-K"."""
    follows = (before.values and token.adjoins for before, token in pairwise(tokens))
    alone = [token.text for token, is_of in zip(tokens, (False, *follows), strict=False) if not (is_of or token.values)]
    return {quantities().scales[word] for word in alone if word in quantities().scales}


@lru_cache(maxsize=4096)  # each figure of a claim is compared with each cell of its quotes
def _alike(unit: str, units: frozenset[str]) -> frozenset[str]:
    """Return the units of the same kind as this one: currencies for a currency, otherwise units that convert to it."""
    money = set(quantities().currencies.values())
    return frozenset(
        each for each in units if each == unit or {each, unit} <= money or (unit and _convertible(each, unit))
    )


def _units_of(tokens: Sequence[Token]) -> frozenset[str]:
    units, words = {token.unit for token in tokens}, [word for token in tokens for word in token.written.split()]
    at = 0
    while at < len(words):
        unit, length = quantities().unit(words[at:])
        units.add(unit)
        at += max(1, length)
    return frozenset(units - {""})


def _same_kind(one: Token, other: Token) -> bool:
    if one.unit and other.unit:
        return one.unit == other.unit or _convertible(one.unit, other.unit)
    return False


def _same_digits(one: Token, other: Token) -> bool:
    """Return whether the figures differ only by sign, scale or unit. "6" may have the unit of "six months"."""
    pairs = [(mine, yours) for mine in one.values for yours in other.values if mine and yours]
    return any(abs(mine / yours) in _SCALES and (mine != yours or bool(other.unit)) for mine, yours in pairs)


def _equal(one: Token, other: Token) -> bool:
    return any(abs(value - each) <= abs(value) * _EXACT for value in one.values for each in _converted(other, one.unit))


def is_rounded(one: Token, other: Token) -> bool:
    """Return whether a figure is another one rounded: 1,000 for 1,012, 50 m for 164 ft."""
    found = other.values if one.unit == other.unit else _converted(other, one.unit)
    share = _MONTH if {one.unit, other.unit} in ({"month", "week"}, {"month", "day"}) else _ROUND
    return any(
        abs(value - each) <= min(Decimal(5).scaleb(value.normalize().adjusted() - 1), abs(value) * share)
        for value in one.values
        for each in found
    )


def _converted(token: Token, unit: str) -> set[Decimal]:
    """Return the values of the token in a unit. Empty if the unit does not fit."""
    if not _convertible(unit, token.unit):
        return set()
    return {Decimal(str(convert(value, _name(token.unit), _name(unit)))) for value in token.values}


@cache
def _convertible(one: str, other: str) -> bool:
    try:
        convert(Decimal(1), _name(one), _name(other))
    except ToolError:
        return False
    return True


def _are_degrees(one: str, other: str) -> bool:
    return "degree" in (one, other) and {one, other} <= {"degree", "degC", "degF"}


def _name(unit: str) -> str:
    return unit.replace("_", " ")


def _years(token: Token) -> set[Decimal]:
    return {Decimal(year) for year, month, _ in token.dates if year and not month} | set(token.values)


def _comparable(one: Token, other: Token) -> bool:
    """Return whether the dates share a part that both name, so that they exclude each other."""
    return any(
        mine is not None and yours is not None and mine != yours
        for a in one.dates
        for b in other.dates
        for mine, yours in zip(a, b, strict=True)
    )

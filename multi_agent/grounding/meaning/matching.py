"""Decides whether two tokens have the same meaning, exclude each other, or are of the same kind."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cache

from multi_agent.errors import ToolError
from multi_agent.grounding.meaning.lexicon import Lexicon, peoples, quantities
from multi_agent.grounding.meaning.reading import Token
from multi_agent.records.units import convert

_ENDINGS = frozenset({
    "", "s", "es", "e", "ed", "d", "ing", "y", "ies", "ied", "ying", "n", "en", "er", "em", "et", "t", "te", "st", "nd",
})  # fmt: skip
_MIN_STEM, _COMMON = 5, 0.75
_MOST_ENDING = 5
_NEGATED = ("un", "in", "im", "ir", "il", "dis", "non", "mis")
_DEMONYMS = ("an", "ian", "ese", "ish", "i", "ic", "er")
_SCALES = frozenset(Decimal(1000) ** power for power in range(-4, 5))
_EXACT, _ROUND = Decimal("1e-9"), Decimal("0.02")  # shares of a value


class Matcher:
    """Compares tokens. ``context`` names the headings, tables and documents of the quotes."""

    def __init__(self, lexicon: Lexicon, context: Sequence[Token]) -> None:
        self._lexicon, self.context = lexicon, context
        self._scales = {quantities().scales.get(word) for token in context for word in token.text.split()} - {None}
        found = (quantities().unit([word])[0] for token in context for word in token.text.split())
        self._units = {unit for unit in found if unit} | {token.unit for token in context}

    def in_context(self, token: Token) -> bool:
        return any(self.same(token, each) for each in self.context)

    def same(self, claim: Token, quote: Token) -> bool:
        """Return whether the quote's token states that of the claim."""
        if claim.dates or quote.dates:
            return self._same_date(claim, quote)
        if claim.values or quote.values:
            return bool(claim.values and quote.values) and self._same_figure(claim, quote)
        return self._same_word(claim, quote)

    def excludes(self, claim: Token, quote: Token) -> bool:
        """Return whether both cannot be true in one place."""
        if claim.values and quote.values:
            return (_same_kind(claim, quote) or _same_digits(claim, quote)) and not is_rounded(claim, quote)
        if claim.dates and quote.dates:
            return len(claim.text) > 1 and _comparable(claim, quote)
        return claim.kind in ("word", "name") and (self.opposed(claim, quote) or _negates(claim.text, quote.text))

    def rivals(self, one: Token, other: Token) -> bool:
        """Return whether the other token is of the same kind as the first, with another value."""
        if one.text == other.text:
            return False
        if one.values and other.values:
            return one.unit == other.unit and not self._same_figure(one, other)
        return bool(one.dates and other.dates) or (one.is_name and other.is_name) or self.opposed(one, other)

    def opposed(self, one: Token, other: Token) -> bool:
        """Return whether the words are on different sides of a group of opposites, and on no common side."""
        mine, yours = self._lexicon.sides(one.text), self._lexicon.sides(other.text)
        numbers = {(side.group, side.number) for side in mine} & {(side.group, side.number) for side in yours}
        return not numbers and bool({side.group for side in mine} & {side.group for side in yours})

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
        if claim.unit and not quote.unit:
            if claim.unit not in self._units:
                return False
            quote = quote._replace(unit=claim.unit)
        scaled = {value * scale for value in quote.values for scale in self._scales if scale} if self._scales else set()
        if claim.values & (quote.values | scaled) and claim.unit in ("", quote.unit):
            return True
        if claim.values & quote.values and _are_degrees(claim.unit, quote.unit):
            return True
        return bool(claim.unit) and claim.unit != quote.unit and _equal(claim, quote)

    def _same_word(self, claim: Token, quote: Token) -> bool:
        one, other = claim.text, quote.text
        forms = self._lexicon.forms
        if one == other or forms.get(one, one) == forms.get(other, other):
            return True
        if self._means_same(one, other) or same_country(one, other):
            return True
        if self.opposed(claim, quote) or _negates(one, other):
            return False
        return _is_form(one, other, are_names=claim.is_name and quote.is_name)

    def _means_same(self, one: str, other: str) -> bool:
        mine = {side for side in self._lexicon.sides(one) if side.same}
        return bool(mine & self._lexicon.sides(other))


def _is_form(one: str, other: str, *, are_names: bool) -> bool:
    common = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rests = one[common:], other[common:]
    if {"less", "ful"} & set(rests) or ("ee" in rests[0][:2]) != ("ee" in rests[1][:2]):
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


@cache
def _countries() -> frozenset[str]:
    from babel import Locale

    return frozenset(str(name).casefold() for name in Locale("en").territories.values())


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
    return any(
        abs(value - each) <= min(Decimal(5).scaleb(value.normalize().adjusted() - 1), abs(value) * _ROUND)
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

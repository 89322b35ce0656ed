"""Parses numbers and dates as people write them, finds the numbers in a text, and returns every possible reading.

"1,234" is 1234 or 1.234. "03/04/2024" is in March or in April. Callers that need one value use it if there is one
reading, and report the ambiguity otherwise.
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from itertools import product
from typing import NamedTuple

_MAX_LENGTH = 60
_MARKS = str.maketrans({"−": "-", "’": "'", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "٬": "'", "٫": "."})
_PLAIN = re.compile(r"0|[1-9][0-9]*")
_THREES = r"[1-9][0-9]{0,2}(?P<mark>[ .,'])[0-9]{3}(?:(?P=mark)[0-9]{3})*"
_TWOS = r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"  # pairs before the last three digits, as in India
_GROUPED = re.compile(f"{_THREES}|{_TWOS}")
_DECIMALS = re.compile(r"(?P<whole>.*)(?P<mark>[.,])(?P<decimals>[0-9]+)")
_SCIENTIFIC = re.compile(r"[0-9](?:\.[0-9]+)?[eE][+-]?[0-9]{1,3}")

_NUMBER = re.compile(
    r"(?P<sign>[-−]?)(?P<digits>(?<!\w)\d{1,3}(?: \d{3})+(?!\d)|\d(?:[\d.,'’\u00a0\u202f]*\d)?)"
    r"[ \u00a0]?(?P<scale>[^\W\d_]+|(?P<currency>[^\w\s]?) ?['’]000\b)?"
)
# Short scale, as in English and in financial reports.
_SCALES = {
    "thousand": 3, "k": 3, "million": 6, "millions": 6, "mn": 6, "billion": 9, "billions": 9, "bn": 9,
    "trillion": 12, "trillions": 12, "tn": 12,
}  # fmt: skip
_LETTERS = {"m": 6, "b": 9}  # ambiguous: 5 m may be five metres, $5M is five million

# Defaults for missing parts. They have no part in common, so only a full date gives the same result with both.
_DEFAULTS = (datetime(2000, 1, 1), datetime(2005, 2, 2, 1, 1, 1))  # noqa: DTZ001 - dates have no time zone
_STARTS_WITH_YEAR = re.compile(r"\d{4}")


def read_number(text: str) -> frozenset[Decimal]:
    """Return every number that the text can mean. It may have a sign, digits and separators only."""
    plain = text.strip().translate(_MARKS)
    if not plain.isascii():
        plain = "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in plain)
    if len(plain) > _MAX_LENGTH:
        return frozenset()
    digits = plain.removeprefix("-").removeprefix("+").lstrip()
    sign = -1 if plain.startswith("-") else 1
    return frozenset(sign * value for value in _amounts(digits))


def _amounts(digits: str) -> list[Decimal]:
    if _SCIENTIFIC.fullmatch(digits):
        return [Decimal(digits)]
    amounts = []
    if _PLAIN.fullmatch(digits) or _GROUPED.fullmatch(digits):
        amounts.append(Decimal(_keep_digits(digits)))
    if match := _DECIMALS.fullmatch(digits):
        whole, mark = match["whole"], match["mark"]
        if _PLAIN.fullmatch(whole) or (_GROUPED.fullmatch(whole) and mark not in whole):
            amounts.append(Decimal(f"{_keep_digits(whole)}.{match['decimals']}"))
    return amounts


def _keep_digits(text: str) -> str:
    return re.sub(r"[^0-9]", "", text)


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
        digits = _SCALES.get("k" if scale.endswith("000") else scale)  # "23,410 £'000", as in a table header
        after = text[match.end("digits" if digits is None else "scale") :].strip(" \u00a0.")
        suffix = (match["currency"] or "") + after
        if values := read_number(match["digits"]):
            powers = {digits or 0, _LETTERS.get(scale, digits or 0)}
            yield Amount(frozenset(sign * value * Decimal(10) ** power for value in values for power in powers), suffix)


def read_date(text: str) -> frozenset[date]:
    """Return every date that the text can mean. It must have day, month and year, and no time but midnight."""
    if len(text) > _MAX_LENGTH or not any(character.isdigit() for character in text):
        return frozenset()
    day_first = (False,) if _STARTS_WITH_YEAR.match(text.strip()) else (False, True)
    return frozenset(day for order in product(day_first, (False, True)) if (day := _day(text, *order)))


def _day(text: str, day_first: bool, year_first: bool) -> date | None:
    from dateutil import parser

    days = set()
    for default in _DEFAULTS:
        try:
            moment = parser.parse(text, default=default, dayfirst=day_first, yearfirst=year_first, ignoretz=True)
        except (ValueError, OverflowError):
            return None
        if moment.time() not in (default.time(), time.min):
            return None
        days.add(moment.date())
    return days.pop() if len(days) == 1 else None

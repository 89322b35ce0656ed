"""Numbers and dates as people write them: every way in which a text can be read.

"1,234" is one thousand or one and a bit, "03/04/2024" is in March or in April. Nothing is guessed here: who needs one
value takes it where there is one reading, and says so where there are more.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, datetime, time
from decimal import Decimal
from itertools import product

_LONGEST = 60
_MARKS = str.maketrans({"−": "-", "’": "'", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "٬": "'", "٫": "."})
_PLAIN = re.compile(r"0|[1-9][0-9]*")
_THREES = r"[1-9][0-9]{0,2}(?P<mark>[ .,'])[0-9]{3}(?:(?P=mark)[0-9]{3})*"
_TWOS = r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"  # before the last three, as in India
_GROUPED = re.compile(f"{_THREES}|{_TWOS}")
_DECIMALS = re.compile(r"(?P<whole>.*)(?P<mark>[.,])(?P<decimals>[0-9]+)")
_SCIENTIFIC = re.compile(r"[0-9](?:\.[0-9]+)?[eE][+-]?[0-9]{1,3}")

# What a text leaves open is filled in from these: with no part in common, a full date comes out the same of both.
_FILLINGS = (datetime(2000, 1, 1), datetime(2005, 2, 2, 1, 1, 1))  # noqa: DTZ001 - dates have no time zone
_STARTS_WITH_YEAR = re.compile(r"\d{4}")


def read_number(text: str) -> frozenset[Decimal]:
    """Every number that the text can be; it has a sign, digits and marks between them, and nothing else."""
    plain = "".join(_ascii_digit(character) for character in text.strip().translate(_MARKS))
    if len(plain) > _LONGEST:
        return frozenset()
    digits = plain.removeprefix("-").removeprefix("+").lstrip()
    sign = -1 if plain.startswith("-") else 1
    return frozenset(sign * value for value in _amounts(digits))


def _amounts(digits: str) -> list[Decimal]:
    if _SCIENTIFIC.fullmatch(digits):
        return [Decimal(digits)]
    amounts = []
    if _PLAIN.fullmatch(digits) or _GROUPED.fullmatch(digits):
        amounts.append(Decimal(_only_digits(digits)))
    if match := _DECIMALS.fullmatch(digits):
        whole, mark = match["whole"], match["mark"]
        if _PLAIN.fullmatch(whole) or (_GROUPED.fullmatch(whole) and mark not in whole):
            amounts.append(Decimal(f"{_only_digits(whole)}.{match['decimals']}"))
    return amounts


def _only_digits(text: str) -> str:
    return re.sub(r"[^0-9]", "", text)


def _ascii_digit(character: str) -> str:
    return str(unicodedata.decimal(character)) if character.isdecimal() else character


def read_date(text: str) -> frozenset[date]:
    """Every day that the text can be: it names day, month and year, and no time but midnight."""
    if len(text) > _LONGEST or not any(character.isdigit() for character in text):
        return frozenset()
    day_first = (False,) if _STARTS_WITH_YEAR.match(text.strip()) else (False, True)
    return frozenset(day for order in product(day_first, (False, True)) if (day := _day(text, *order)))


def _day(text: str, day_first: bool, year_first: bool) -> date | None:
    from dateutil import parser

    days = set()
    for filling in _FILLINGS:
        try:
            moment = parser.parse(text, default=filling, dayfirst=day_first, yearfirst=year_first, ignoretz=True)
        except (ValueError, OverflowError):
            return None
        if moment.time() not in (filling.time(), time.min):
            return None
        days.add(moment.date())
    return days.pop() if len(days) == 1 else None

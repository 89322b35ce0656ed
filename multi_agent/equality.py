"""When two short answers are the same by value: the same number, the same date, the same words.

No meaning is guessed here. What can be read in more than one way ("9,412", "03/04/2025") counts as words, and words
that differ may still mean the same: that is for a model to say.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from typing import NamedTuple

# A sign and a currency before the digits, anything without digits after them.
_QUANTITY = re.compile(r"(?P<sign>-?)(?P<currency>[^\w\s]?) ?(?P<digits>[0-9](?:[0-9 .,'’]*[0-9])?) ?(?P<unit>\D*)")
_PLAIN = re.compile(r"0|[1-9][0-9]*")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?P<mark>[ .,'’])[0-9]{3}(?:(?P=mark)[0-9]{3})*")
_DECIMALS = re.compile(r"(?P<whole>.*)(?P<mark>[.,])(?P<decimals>[0-9]+)")

_LONGEST_DATE = 40
# What a text leaves open is filled in from these: with neither part in common, a full date comes out the same of both.
_FILLING = (datetime(2000, 1, 1), datetime(2005, 2, 2, 1, 1, 1))  # noqa: DTZ001 - dates have no time zone


class Number(NamedTuple):
    """A quantity in a unit, which is empty for a bare number."""

    amount: Decimal
    unit: str


class Words(NamedTuple):
    """Anything else, without differences of case and white space."""

    text: str


AnswerValue = Number | date | Words


def value_of(answer: str) -> AnswerValue:
    """What the answer says; two answers with equal values are the same answer."""
    text = " ".join(unicodedata.normalize("NFC", answer).replace("−", "-").split()).rstrip(". ")
    words = Words(text if _QUANTITY.fullmatch(text) else text.casefold())  # 5 mW are not 5 MW
    return _number(text) or _date(text) or words


def tell_apart(values: Sequence[AnswerValue]) -> bool:
    """Whether these values, all different, cannot mean the same: numbers in one unit, or dates."""
    kinds = {("number", value.unit) if isinstance(value, Number) else (type(value).__name__, "") for value in values}
    return len(kinds) == 1 and not isinstance(values[0], Words)


def _number(text: str) -> Number | None:
    match = _QUANTITY.fullmatch(text)
    if not match or (match["currency"] and unicodedata.category(match["currency"]) != "Sc"):
        return None
    amounts = set(_readings(match["digits"]))
    if len(amounts) != 1:
        return None
    sign = -1 if match["sign"] else 1
    return Number(sign * amounts.pop(), f"{match['unit']} {match['currency']}".strip())


def _readings(digits: str) -> Iterator[Decimal]:
    """Every way to read digits with marks between them, which separate thousands or decimals."""
    if _PLAIN.fullmatch(digits) or _GROUPED.fullmatch(digits):
        yield Decimal(re.sub(r"\D", "", digits))
    if match := _DECIMALS.fullmatch(digits):
        grouped = _GROUPED.fullmatch(match["whole"])
        if _PLAIN.fullmatch(match["whole"]) or (grouped and grouped["mark"] != match["mark"]):
            yield Decimal(f"{re.sub(r'[^0-9]', '', match['whole'])}.{match['decimals']}")


def _date(text: str) -> date | None:
    """The day that the text names in full, and without a time. Day and month must not be exchangeable."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return _written_date(text)


def _written_date(text: str) -> date | None:
    from dateutil import parser

    if len(text) > _LONGEST_DATE or not any(character.isdigit() for character in text):
        return None
    found = set()
    for filling, day_first, year_first in product(_FILLING, (True, False), (True, False)):
        try:
            parsed = parser.parse(text, default=filling, dayfirst=day_first, yearfirst=year_first, ignoretz=True)
        except (ValueError, OverflowError):
            return None
        if parsed.time() != filling.time():
            return None
        found.add(parsed.date())
    return found.pop() if len(found) == 1 else None

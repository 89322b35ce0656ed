"""When two short answers are the same by value: the same number, the same date, the same words.

No meaning is guessed here. What can be read in more than one way ("9,412", "03/04/2025") counts as words, and words
that differ may still mean the same: that is for a model to say.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from multi_agent.records.numbers_and_dates import read_date, read_number

# A sign and a currency before the digits, anything without digits after them.
_QUANTITY = re.compile(r"(?P<sign>-?)(?P<currency>[^\w\s]?) ?(?P<digits>[0-9](?:[0-9 .,'’]*[0-9])?) ?(?P<unit>\D*)")


class Number(NamedTuple):
    """A quantity in a unit, which is empty for a bare number."""

    amount: Decimal
    unit: str


class Words(NamedTuple):
    """Anything else, without differences of case and white space."""

    text: str


AnswerValue = Number | date | Words


def parse_value(answer: str) -> AnswerValue:
    """What the answer says; two answers with equal values are the same answer."""
    text = " ".join(unicodedata.normalize("NFC", answer).replace("−", "-").split()).rstrip(". ")
    words = Words(text if _QUANTITY.fullmatch(text) else text.casefold())  # 5 mW are not 5 MW
    return _number(text) or _date(text) or words


def are_distinct(values: Sequence[AnswerValue]) -> bool:
    """Whether these values, all different, cannot mean the same: numbers in one unit, or dates."""
    kinds = {("number", value.unit) if isinstance(value, Number) else (type(value).__name__, "") for value in values}
    return len(kinds) == 1 and not isinstance(values[0], Words)


def _number(text: str) -> Number | None:
    match = _QUANTITY.fullmatch(text)
    if not match or (match["currency"] and unicodedata.category(match["currency"]) != "Sc"):
        return None
    amounts = read_number(match["digits"])
    if len(amounts) != 1:
        return None
    sign = -1 if match["sign"] else 1
    return Number(sign * next(iter(amounts)), f"{match['unit']} {match['currency']}".strip())


def _date(text: str) -> date | None:
    """The day that the text names in full, and without a time. Day and month must not be exchangeable."""
    days = read_date(text)
    return next(iter(days)) if len(days) == 1 else None

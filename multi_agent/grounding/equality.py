"""Equality of short answers by value: the same number, the same date or the same words.

An ambiguous text ("9,412", "03/04/2025") is compared as words. Different words may still have the same meaning; only a
model decides that.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from multi_agent.records.numbers_and_dates import read_date, read_number

# Optional sign and currency, digits, then a unit without digits.
_QUANTITY = re.compile(r"(?P<sign>-?)(?P<currency>[^\w\s]?) ?(?P<digits>[0-9](?:[0-9 .,'’]*[0-9])?) ?(?P<unit>\D*)")


class Number(NamedTuple):
    """A quantity with its unit. The unit of a bare number is empty."""

    amount: Decimal
    unit: str


class Words(NamedTuple):
    """Any other text, with case and white space normalized."""

    text: str


AnswerValue = Number | date | Words


def parse_value(answer: str) -> AnswerValue:
    """Return the value of an answer. Answers with equal values are equal."""
    text = " ".join(unicodedata.normalize("NFC", answer).replace("−", "-").split()).rstrip(". ")
    words = Words(text if _QUANTITY.fullmatch(text) else text.casefold())  # keep case: 5 mW is not 5 MW
    return _number(text) or _date(text) or words


def are_distinct(values: Sequence[AnswerValue]) -> bool:
    """Return whether different values cannot mean the same: all are numbers in one unit, or all are dates."""
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
    """Return the date if the text has one unambiguous full date without a time."""
    days = read_date(text)
    return next(iter(days)) if len(days) == 1 else None

"""Turns the words of a model or of a person into the value of a column, and finds numbers and dates in quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import TypeVar

from multi_agent.errors import TableError
from multi_agent.records.numbers_and_dates import find_amounts, read_date, read_number
from multi_agent.tables.values import Column, ColumnType, Value
from vectorstore.text.dates import dates

T = TypeVar("T")
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?")
_PART_OF_DATE = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")
_POINT = re.compile(r"([-+]?\d{1,3})\.(\d{3})")
_POWERS = range(-12, 13, 3)
_YES_NO = {"yes": True, "true": True, "no": False, "false": False}


def read_value(column: Column, texts: Sequence[str]) -> Value:
    """Return the value of a column. Raises TableError if the texts do not fit its type."""
    if column.type is ColumnType.LIST:
        return tuple(dict.fromkeys(texts))
    text = "; ".join(texts)
    match column.type:
        case ColumnType.NUMBER:
            return _as_value(read_figure(text))
        case ColumnType.DATE:
            return text if _PART_OF_DATE.fullmatch(text) else str(_only(read_date(text), text, "date"))
        case ColumnType.YES_NO:
            return _known(text, _YES_NO)
        case ColumnType.CHOICE:
            return _known(text, {choice.casefold(): choice for choice in column.choices})
    return text


def read_given(column: Column, texts: Sequence[str]) -> Value:
    """Return the value that a person gave. A number may have the unit of the column.

    Raises TableError, also for a number with two meanings, such as 1.255.
    """
    if column.type is not ColumnType.NUMBER:
        return read_value(column, texts)
    text = "; ".join(texts).strip()
    plain = text
    if column.unit and text.casefold().endswith(column.unit.casefold()):
        without = text[: -len(column.unit)]
        plain = text if without[-1:].isalpha() else without.strip()
    readings = read_number(plain)
    if len(readings) == 2 and (point := _POINT.fullmatch(plain)):
        raise TableError(f"{text!r} can be read as {point[1]}{point[2]} or as {plain}0. Write one of these.")
    return _as_value(_only(readings, text, "number"))


def _as_value(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def read_figure(text: str) -> Decimal:
    """Return the number. A point is the decimal point if the text has no other separator. Raises TableError."""
    plain = text.strip()
    return Decimal(plain) if _PLAIN.fullmatch(plain) else _only(read_number(plain), plain, "number")


def _only(readings: frozenset[T], text: str, kind: str) -> T:
    if len(readings) == 1:
        return next(iter(readings))
    if not readings:
        raise TableError(f"{text!r} is not a {kind}.")
    raise TableError(f"{text!r} can be read as {' or as '.join(sorted(map(str, readings)))}.")


def _known(text: str, values: dict[str, T]) -> T:
    if (found := values.get(text.strip(" .").casefold())) is None:
        raise TableError(f"{text!r} is none of {', '.join(map(str, values))}.")
    return found


def has_number(number: float, column: Column, quotes: Sequence[str]) -> bool:
    """Return whether a quote contains the number, in the scale of the column or in another one.

    14.7 of "Net income in billion" is in "$14,700 million". Signs are ignored, because financial reports write negative
    numbers in brackets.
    """
    words = ("", *re.findall(r"[^\W\d_]+", f"{column.unit} {column.name} {column.question}"))
    sought = {value for word in words for value in _amounts(f"{Decimal(repr(number)):f} {word}")}
    return any(sought & _amounts(quote) for quote in quotes)


def may_have_number(number: float, quotes: Sequence[str]) -> bool:
    """Return whether a quote contains the number times a power of 1,000. Its table may name the scale."""
    sought = abs(Decimal(repr(number)))
    return any(sought == value.scaleb(power) for quote in quotes for value in _amounts(quote) for power in _POWERS)


def _amounts(text: str) -> set[Decimal]:
    return {abs(value) for amount in find_amounts(text) for value in amount.values}


def has_date(value: str, quotes: Sequence[str], language: str) -> bool:
    """Return whether a quote contains the date: a day, a month or a year as ISO text."""
    year, month, day = [*value.split("-"), "", ""][:3]
    text = "\n".join(quotes)
    if not month:
        return year in text
    if value.replace("-", "") in {form for *_, forms in dates(text, language) for form in forms}:
        return True
    if not day:
        return bool(re.search(rf"(?<!\d)0?{int(month)}[/.]{year}|{year}[/.-]0?{int(month)}(?!\d)", text))
    return any(date.fromisoformat(value) in read_date(word) for word in re.findall(r"\d+[./-]\d+[./-]\d+", text))

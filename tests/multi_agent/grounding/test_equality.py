"""Which short answers are the same by value, and which are left to a model."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_agent.grounding.equality import Number, Words, are_distinct, parse_value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("9412", "9 412"),
        ("9412000", "9,412,000"),
        ("9,412,000", "9.412.000"),
        ("1,234.50", "1.234,5"),
        ("1 234,5", "1'234.5"),
        ("12 %", "12%"),
        ("2.40", "2,4"),
        ("−25 °C", "-25 °C"),
        ("€69000", "69 000 €"),
        ("$5 million", "5 million $"),
        ("7 years", "7  years."),
        ("17 March 2025", "2025-03-17"),
        ("March 17th, 2025", "17/03/2025"),
        ("10/10/2024", "on 10 October 2024"),
        ("Jonah  Cheplan", "jonah cheplan."),
        ("YES", "Yes"),
    ],
)
def test_equal_values_are_equal_in_any_notation(one: str, other: str) -> None:
    assert parse_value(one) == parse_value(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("9412", "9640"), ("12 %", "12"), ("5 mW", "5 MW"), ("9,412 mW", "9,412 MW"), ("7 years", "7 months"),
     ("2025-03-17", "2025-03-18"), ("007", "7"), ("-5", "5"), ("yes", "no")],
)  # fmt: skip
def test_what_differs_is_not_the_same(one: str, other: str) -> None:
    assert parse_value(one) != parse_value(other)


@pytest.mark.parametrize(
    "text",
    ["9,412", "12.500", "03/04/2025", "2.3.2024", "March 2025", "17 March 2025, 10:30", "2:02:08", "5 of 6",
     "~5", "1,00,00", "0x1F", "Monday", "E19", ""],
)  # fmt: skip
def test_ambiguous_values_are_compared_as_words(text: str) -> None:
    assert isinstance(parse_value(text), Words)


@pytest.mark.parametrize(
    ("texts", "apart"),
    [(("9412", "9640"), True), (("7 years", "5 years"), True), (("2025-03-17", "2025-03-18"), True),
     (("7 years", "84 months"), False), (("4", "four"), False), (("9,412", "9412"), False), (("yes", "no"), False),
     (("2025-03-17", "4"), False)],
)  # fmt: skip
def test_different_numbers_in_one_unit_and_dates_are_distinct(texts: tuple[str, ...], apart: bool) -> None:
    assert are_distinct([parse_value(text) for text in texts]) is apart


_amounts = st.decimals(min_value=-(10**12), max_value=10**12, places=2)
_units = st.sampled_from(["", "%", "kg", "heat pumps", "€"])


def _grouped(amount: Decimal, group: str, mark: str) -> str:
    """The amount with groups of thousands and two decimals."""
    return f"{amount:,.2f}".replace(",", "\0").replace(".", mark).replace("\0", group)


@given(_amounts, _units)
def test_numbers_are_parsed_with_any_separators(amount: Decimal, unit: str) -> None:
    written = [_grouped(amount, group, mark) for group, mark in ((",", "."), (".", ","), (" ", ","), ("'", "."))]
    written += [f"{amount:f}", f"{amount:f}".replace(".", ",")]
    values = {parse_value(f"{text}{space}{unit}") for text in written for space in (" ", "\u202f", "")}
    assert values == {Number(amount, unit)}


@given(_amounts, _amounts, _units)
def test_equal_numbers_are_equal_values_and_no_others(one: Decimal, other: Decimal, unit: str) -> None:
    assert (parse_value(f"{one} {unit}") == parse_value(f"{other} {unit}")) is (one == other)


@given(st.dates(min_value=datetime.date(1900, 1, 1), max_value=datetime.date(2100, 1, 1)))
def test_a_date_is_parsed_unless_day_and_month_are_ambiguous(day: datetime.date) -> None:
    written = [day.isoformat(), f"{day:%d %B %Y}", f"{day:%B %d, %Y}", f"{day:%d %b %Y}"]
    assert {parse_value(text) for text in written} == {day}
    exchangeable = day.day <= 12 and day.day != day.month
    assert (parse_value(f"{day:%d/%m/%Y}") == day) is not exchangeable


@given(st.text())
def test_values_ignore_case_and_white_space(text: str) -> None:
    value = parse_value(text)
    assert parse_value(f"  {text}\n") == value
    assert hash(value) == hash(parse_value(text))

"""Numbers and dates are read as they are written, in every way in which they can be read, and never by guessing."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_agent.records.numbers_and_dates import find_amounts, read_date, read_number


def test_thousands_are_read_as_heads_of_tables_write_them() -> None:
    amounts = [each for text in ("23,410 £'000", "£23,410 ’000 in 2024") for each in find_amounts(text)][:2]
    assert [max(each.values) for each in amounts] == [23_410_000, 23_410_000]
    assert [each.suffix for each in amounts] == ["£", "in 2024"]


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("9412", ["9412"]),
        ("12.5", ["12.5"]),
        ("12,5", ["12.5"]),
        ("-3", ["-3"]),
        ("−3", ["-3"]),
        ("1,234.50", ["1234.50"]),
        ("1.234,50", ["1234.50"]),
        ("1,234,567", ["1234567"]),
        ("12,34,567", ["1234567"]),
        ("1 234", ["1234"]),
        ("1\u202f234,5", ["1234.5"]),
        ("1'234", ["1234"]),
        ("0,125", ["0.125"]),
        ("1.5e3", ["1500"]),
        ("١٢", ["12"]),
        ("1,234", ["1.234", "1234"]),
        ("1.234", ["1.234", "1234"]),
        ("1,23,4", []),
        ("12 %", []),
        ("about 12", []),
        ("1.2.3", []),
        ("", []),
        ("9" * 100, []),
    ],
)
def test_a_number_is_read_in_every_way_it_can_be(text: str, readings: list[str]) -> None:
    assert read_number(text) == {Decimal(reading) for reading in readings}


@given(st.decimals(-(10**12), 10**12, places=2), st.sampled_from([(",", "."), (".", ","), (" ", ","), ("'", ".")]))
def test_different_separators_are_unambiguous(number: Decimal, marks: tuple[str, str]) -> None:
    thousands, point = marks
    written = f"{number:,.2f}".replace(",", "_").replace(".", point).replace("_", thousands)
    assert read_number(written) == {number}


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("2024-09-15", ["2024-09-15"]),
        ("2024-03-04", ["2024-03-04"]),
        ("2024/03/04", ["2024-03-04"]),
        ("2024-03-04 00:00:00", ["2024-03-04"]),
        ("15 September 2024", ["2024-09-15"]),
        ("Sunday, September 15th, 2024", ["2024-09-15"]),
        ("15.9.2024", ["2024-09-15"]),
        ("9/15/2024", ["2024-09-15"]),
        ("05/05/2024", ["2024-05-05"]),
        ("03/04/2024", ["2024-03-04", "2024-04-03"]),
        ("15.9.24", ["2015-09-24", "2024-09-15"]),
        ("March 2024", []),
        ("15 September", []),
        ("2024", []),
        ("2024-02-30", []),
        ("15 September 2024, 10:30", []),
        ("soon", []),
        ("", []),
    ],
)
def test_a_date_is_read_in_every_way_it_can_be(text: str, readings: list[str]) -> None:
    assert read_date(text) == {date.fromisoformat(reading) for reading in readings}


@given(st.dates(date(1900, 1, 1), date(2199, 12, 31)))
def test_a_date_with_a_month_name_is_unambiguous(day: date) -> None:
    assert read_date(f"{day:%d %B %Y}") == read_date(f"{day:%B %d, %Y}") == {day}


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert all(isinstance(each, Decimal) for each in read_number(text))
    assert all(isinstance(each, date) for each in read_date(text))

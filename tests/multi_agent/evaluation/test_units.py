"""Conversion of units as models and people write them."""

from __future__ import annotations

import warnings
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multi_agent.evaluation.metrics.correct import convert_unit

KNOWN = ["minutes", "m", "per", "days", "dB", "dBm", "kWh", "degrees", "°C", "°", "%", "m²", "s³", "µ", "Ω", "pH", "Np"]
HOSTILE = [
    "of",
    "and",
    "or",
    "not",
    "if",
    "is",
    "lambda",
    "await",
    "nan",
    "inf",
    "None",
    "9**9**9",
    "3",
    "(",
    "//",
    "'",
    '"',
]


@pytest.mark.parametrize(
    ("value", "unit", "into", "expected"),
    [
        ("36", "km/h", "metres per second", 10),
        ("12", "months", "Years", 1),
        ("25", "%", "percent", 25),
        ("1", "m²", "cm²", 10_000),
        ("1", "kg", "km", None),
        ("1", "EUR", "USD", None),
        ("1", "", "m", None),
        ("-5", "m", "dB", None),
    ],
)
def test_values_are_converted_between_compatible_units(
    value: str, unit: str, into: str, expected: float | None
) -> None:
    found = convert_unit(Decimal(value), unit, into)
    assert found == (None if expected is None else pytest.approx(expected))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(KNOWN + HOSTILE), st.sampled_from([" ", "/", "·", ""])), min_size=1, max_size=5)
)
def test_any_text_is_accepted_as_a_unit(parts: list[tuple[str, str]]) -> None:
    text = "".join(word + mark for word, mark in parts)
    with warnings.catch_warnings(action="ignore"):  # logarithm of zero
        for into in ("minutes", "°C", "dB", "%"):
            assert isinstance(convert_unit(Decimal(5), text, into), float | None)

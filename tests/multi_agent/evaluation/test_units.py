"""Units as models and people write them: converted where pint knows both, and no trouble where it does not."""

from __future__ import annotations

import warnings
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multi_agent.evaluation.units import converted

KNOWN = ["minutes", "m", "per", "days", "dB", "dBm", "kWh", "degrees", "°C", "°", "%", "m²", "s³", "µ", "Ω", "pH", "Np"]
MEAN = [
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
    ("value", "unit", "into", "there"),
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
def test_a_value_is_converted_where_both_measure_the_same(
    value: str, unit: str, into: str, there: float | None
) -> None:
    found = converted(Decimal(value), unit, into)
    assert found == (None if there is None else pytest.approx(there))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KNOWN + MEAN), st.sampled_from([" ", "/", "·", ""])), min_size=1, max_size=5))
def test_no_text_that_a_model_writes_makes_it_fail(parts: list[tuple[str, str]]) -> None:
    text = "".join(word + mark for word, mark in parts)
    with warnings.catch_warnings(action="ignore"):  # the logarithm of nothing
        for into in ("minutes", "°C", "dB", "%"):
            assert isinstance(converted(Decimal(5), text, into), float | None)

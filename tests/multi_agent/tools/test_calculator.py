"""The calculator is exact where arithmetic is, says where it rounded, and runs nothing but arithmetic."""

from __future__ import annotations

import pytest

from multi_agent.errors import ToolError
from multi_agent.tools.calculations import calculate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("0.1 + 0.2", "0.3"),
        ("2 ** 100", "1267650600228229401496703205376"),
        ("round((1250 - 980) / 980 * 100, 1)", "27.6"),
        ("round(2.5)", "3"),
        ("round(-0.125, 2)", "-0.13"),
        ("1 / 3", "≈ 0.333333333333333"),
        ("1 / 3 * 3", "1"),
        ("1e-3 * 12_000", "12"),
        ("0.12345678901234567 * 10 ** 17", "12345678901234567"),
        ("7 // 2 + 7 % 2", "4"),
        ("sqrt(144) + abs(-3)", "15"),
        ("sqrt(2)", "≈ 1.41421356237310"),
        ("mean(3, 4, 8) - max(1, 2)", "3"),
        ("2 ** -2", "0.25"),
        ("2 ** 0.5 > 1", None),
        ("__import__('os').getcwd()", None),
        ("(1).__class__", None),
        ("'a' * 3", None),
        ("True + 1", None),
        ("9 ** 9 ** 9", None),
        ("1e400 * 1e999999", None),
        ("exp(10 ** 9)", None),
        ("ln(0)", None),
        ("1 / (2 - 2)", None),
        ("1,234 + 1", None),
        ("sqrt()", None),
        ("min()", None),
        ("2 +", None),
        ("(" * 300 + "1" + ")" * 300, None),
        ("-" * 900 + "1", "1"),
    ],
)
def test_a_value_or_the_reason_why_there_is_none(expression: str, value: str | None) -> None:
    if value is None:
        with pytest.raises(ToolError):
            calculate(expression)
    else:
        assert calculate(expression) == value

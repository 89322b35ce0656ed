"""The tools of the Utility agent for dates and units."""

from __future__ import annotations

from typing import Any

import pytest

from multi_agent.errors import ToolError


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"operation": "difference", "date": "2026-01-31", "until": "2026-03-01"},
         "From 2026-01-31 to 2026-03-01: 29 days, that is 1 month, 1 day."),
        ({"operation": "difference", "date": "2024-02-28", "until": "2024-02-29"},
         "From 2024-02-28 to 2024-02-29: 1 day."),
        ({"operation": "difference", "date": "2026-03-01", "until": "2024-12-24"},
         "From 2026-03-01 to 2024-12-24: -432 days, that is -1 year, -2 months, -8 days."),
        ({"operation": "add", "date": "2026-01-31", "months": 1}, "2026-01-31 plus 1 month is 2026-02-28, a Saturday."),
        ({"operation": "add", "date": "2024-02-29", "years": -1, "days": 1},
         "2024-02-29 plus -1 year, 1 day is 2023-03-01, a Wednesday."),
        ({"operation": "add", "date": "2026-11-22"}, "2026-11-22 plus 0 days is 2026-11-22, a Sunday."),
        ({"operation": "weekday", "date": "2026-11-22"}, "2026-11-22 is a Sunday."),
    ],
)  # fmt: skip
async def test_dates_are_calculated(call: Any, asked: dict[str, Any], said: str) -> None:
    assert (await call("dates", asked)).text == said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"operation": "difference", "date": "2026-01-31"}, "give `until`"),
        ({"operation": "add", "date": "2026-01-31", "years": 9000}, "beyond the calendar"),
        ({"operation": "add", "date": "2026-01-31", "days": -100_000, "years": -2000}, "beyond the calendar"),
    ],
)
async def test_dates_that_do_not_exist_are_errors(call: Any, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolError, match=said):
        await call("dates", asked)


@pytest.mark.parametrize(
    ("value", "unit", "into", "said"),
    [
        ("5", "mile", "km", "5 mile = 8.04672 km"),
        ("100", "°F", "°C", "100 °F = 37.77777778 °C"),
        ("3", "kWh", "MJ", "3 kWh = 10.8 MJ"),
        ("1.5", "Hours", "minute", "1.5 Hours = 90 minute"),
        ("-40", "°C", "°F", "-40 °C = -40 °F"),
    ],
)
async def test_units_are_converted(call: Any, value: str, unit: str, into: str, said: str) -> None:
    assert (await call("convert_units", {"value": value, "unit": unit, "into": into})).text == said


@pytest.mark.parametrize(
    ("unit", "into", "said"),
    [
        ("EUR", "USD", "There is no unit 'EUR'"),
        ("kg", "m", "they measure different things"),
        ("2**9999999", "m", "There is no unit"),
        ("__import__", "m", "There is no unit"),
    ],
)
async def test_units_that_cannot_be_converted_are_errors(call: Any, unit: str, into: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        await call("convert_units", {"value": 3, "unit": unit, "into": into})

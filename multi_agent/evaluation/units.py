"""Compares values in different units of measure."""

from __future__ import annotations

from decimal import Decimal

from multi_agent.errors import ToolError
from multi_agent.records.units import convert


def convert_unit(value: Decimal, unit: str, into: str) -> float | None:
    """Return the value in the other unit, or None if a unit is unknown or the dimensions differ."""
    try:
        return convert(value, unit, into)
    except ToolError:
        return None

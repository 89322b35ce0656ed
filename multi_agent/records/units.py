"""Converts values between units of measure. Only this module imports pint."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

from multi_agent.errors import ToolError

if TYPE_CHECKING:
    from pint import Unit, UnitRegistry

_NAME = r"(?:[^\W\d_]{1,30}[²³]?|°[^\W\d_]{0,30}|%)"
_UNIT = re.compile(rf"{_NAME}(?:[ /·]{_NAME}){{0,3}}")
"""A unit without digits and operators, which pint would evaluate."""


def convert(value: Decimal, unit: str, into: str) -> float:
    """Return the value in the other unit. Raises ToolError for an unknown unit, and if it cannot be converted."""
    from pint import PintError

    one, other = _parse(unit), _parse(into)
    try:
        if not one.is_compatible_with(other):
            raise ToolError(f"{unit!r} cannot be converted to {into!r}: they measure different things.")
        found = float(_registry().Quantity(float(value), one).to(other).magnitude)
    except PintError as error:  # e.g. decibels per hour, which pint cannot convert
        raise ToolError(f"{unit!r} cannot be converted to {into!r}: {error}") from error
    if not isfinite(found):
        raise ToolError(f"{value} {unit} is too large to be converted.")
    return found


@lru_cache(maxsize=256)
def _parse(text: str) -> Unit:
    """Parse a unit as written, else in lower case: accepts 'Minutes', but not 'mw' for 'MW'. Raises ToolError."""
    from pint import PintError

    for written in (text, text.lower()) if _UNIT.fullmatch(text) else ():
        try:
            return _registry().parse_units(written)
        except (PintError, ValueError):  # ValueError: pint reads 'nan' as a number
            continue
    raise ToolError(f"There is no unit {text!r}; write it in English, such as 'km/hour' or '°C'.")


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[float]:
    from pint import UnitRegistry

    return UnitRegistry()

"""Converts values between units of measure. Only this module imports pint."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pint import Unit, UnitRegistry

_NAME = r"(?:[^\W\d_]{1,30}[²³]?|°[^\W\d_]{0,30}|%)"
_UNIT = re.compile(rf"{_NAME}(?:[ /·]{_NAME}){{0,3}}")
"""A unit without digits and operators, which pint would evaluate."""


def convert_unit(value: Decimal, unit: str, into: str) -> float | None:
    """Return the value in the other unit, or None if a unit is unknown or the dimensions differ."""
    from pint import PintError

    one, other = _unit(unit), _unit(into)
    if one is None or other is None:
        return None
    try:
        if not one.is_compatible_with(other):
            return None
        found = float(_registry().Quantity(float(value), one).to(other).magnitude)
    except PintError:  # e.g. decibels per hour, which pint cannot convert
        return None
    return found if isfinite(found) else None


@lru_cache(maxsize=256)
def _unit(text: str) -> Unit | None:
    """Parse a unit as written, else in lower case: accepts 'Minutes', but not 'mw' for 'MW'."""
    from pint import PintError

    if not _UNIT.fullmatch(text):
        return None
    for written in (text, text.lower()):
        try:
            return _registry().parse_units(written)
        except (PintError, ValueError):  # ValueError: pint reads 'nan' as a number
            continue
    return None


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[float]:
    from pint import UnitRegistry

    return UnitRegistry()

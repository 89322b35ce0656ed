"""What a value in one unit of measure is in another. The one file that knows pint."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pint import Unit, UnitRegistry

_NAME = r"(?:[^\W\d_]{1,30}[²³]?|°[^\W\d_]{0,30}|%)"
_WRITTEN = re.compile(rf"{_NAME}(?:[ /·]{_NAME}){{0,3}}")
"""What may be a unit: no digits and no other signs, which pint would compute with."""


def converted(value: Decimal, unit: str, into: str) -> float | None:
    """The value in the other unit; None if pint does not know one of them, or they measure different things."""
    from pint import PintError

    one, other = _unit(unit), _unit(into)
    if one is None or other is None:
        return None
    try:
        if not one.is_compatible_with(other):
            return None
        found = float(_registry().Quantity(float(value), one).to(other).magnitude)
    except PintError:  # such as decibels per hour, for which pint has no rule
        return None
    return found if isfinite(found) else None


@lru_cache(maxsize=256)
def _unit(text: str) -> Unit | None:
    """The unit of that name or sign, as it is written, else in lower case: 'Minutes', but not 'mw' for 'MW'."""
    from pint import PintError

    if not _WRITTEN.fullmatch(text):
        return None
    for written in (text, text.lower()):
        try:
            return _registry().parse_units(written)
        except (PintError, ValueError):  # ValueError: 'nan', which is a number to it
            continue
    return None


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[float]:
    from pint import UnitRegistry

    return UnitRegistry()

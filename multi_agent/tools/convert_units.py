"""Converts a value from one unit of measure into another."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.records.units import convert
from multi_agent.tool import ToolCard, ToolKit, ToolResult

_DIGITS = 10


class Conversion(FrozenModel):
    """What is to be converted."""

    value: Decimal = Field(allow_inf_nan=False, description="the number")
    unit: str = Field(min_length=1, max_length=100, description="its unit, such as 'mile', 'kWh', '°F' or 'm/s'")
    into: str = Field(min_length=1, max_length=100, description="the unit to convert it into")


class ConvertUnits:
    """Converts units of measure, not currencies."""

    card: ClassVar[ToolCard] = ToolCard(
        name="convert_units",
        description="Converts a value into another unit of measure: lengths, weights, temperatures, energy, speeds, "
        "data, times. Not currencies.",
        inputs=Conversion,
    )

    def __init__(self, kit: ToolKit) -> None:
        pass

    async def __call__(self, given: Conversion) -> ToolResult:
        found = convert(given.value, given.unit, given.into)
        return ToolResult(text=f"{given.value} {given.unit} = {found:.{_DIGITS}g} {given.into}")

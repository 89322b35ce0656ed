"""Calculates the time between two dates, a date plus a period, and days of the week."""

from __future__ import annotations

from datetime import date
from typing import ClassVar, Literal

from dateutil.relativedelta import relativedelta
from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import ToolError
from multi_agent.tool import ToolCard, ToolKit, ToolResult

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LONGEST = 100_000

Day = date  # the field ``date`` shadows the type in its class


class DateQuestion(FrozenModel):
    """What is to be calculated."""

    operation: Literal["difference", "add", "weekday"] = Field(
        description="'difference': from `date` to `until`; 'add': `date` plus years, months, weeks and days, which may "
        "be negative; 'weekday': the day of the week of `date`"
    )
    date: Day = Field(description="as YYYY-MM-DD")
    until: Day | None = Field(default=None, description="for 'difference': the second date, as YYYY-MM-DD")
    years: int = Field(default=0, ge=-_LONGEST, le=_LONGEST, description="for 'add'")
    months: int = Field(default=0, ge=-_LONGEST, le=_LONGEST, description="for 'add'")
    weeks: int = Field(default=0, ge=-_LONGEST, le=_LONGEST, description="for 'add'")
    days: int = Field(default=0, ge=-_LONGEST, le=_LONGEST, description="for 'add'")


class Dates:
    """Follows the Gregorian calendar. January 31 plus one month is the last day of February."""

    card: ClassVar[ToolCard] = ToolCard(
        name="dates",
        description="Calculates with dates: how many days are between two, which date is some days, weeks, months or "
        "years later or earlier, and on which day of the week a date falls.",
        inputs=DateQuestion,
    )

    def __init__(self, kit: ToolKit) -> None:
        pass

    async def __call__(self, given: DateQuestion) -> ToolResult:
        if given.operation == "weekday":
            return ToolResult(text=f"{given.date} is a {_weekday(given.date)}.")
        if given.operation == "difference":
            return ToolResult(text=_difference(given))
        return ToolResult(text=_sum(given))


def _difference(given: DateQuestion) -> str:
    if given.until is None:
        raise ToolError("A difference takes a second date: give `until`.")
    days = (given.until - given.date).days
    apart = relativedelta(given.until, given.date)
    parts = _parts(years=apart.years, months=apart.months, days=apart.days)
    in_full = f", that is {parts}" if apart.years or apart.months else ""
    return f"From {given.date} to {given.until}: {_count(days, 'day')}{in_full}."


def _sum(given: DateQuestion) -> str:
    added = {"years": given.years, "months": given.months, "weeks": given.weeks, "days": given.days}
    try:
        found = given.date + relativedelta(years=given.years, months=given.months, weeks=given.weeks, days=given.days)
    except (ValueError, OverflowError) as error:
        raise ToolError(f"{given.date} plus {_parts(**added)} is beyond the calendar (years 1 to 9999).") from error
    return f"{given.date} plus {_parts(**added)} is {found}, a {_weekday(found)}."


def _weekday(day: date) -> str:
    return _WEEKDAYS[day.weekday()]


def _parts(**counts: int) -> str:
    return ", ".join(_count(count, unit[:-1]) for unit, count in counts.items() if count) or "0 days"


def _count(count: int, unit: str) -> str:
    return f"{count} {unit}" if abs(count) == 1 else f"{count} {unit}s"

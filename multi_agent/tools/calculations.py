"""Calculates: arithmetic, with exact fractions and 50 digits for irrational results, units of measure, and dates."""

import ast
import operator
from collections.abc import Callable
from datetime import date
from decimal import Decimal, DecimalException, localcontext
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar, Literal

from dateutil.relativedelta import relativedelta
from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import ToolError
from multi_agent.records.units import convert
from multi_agent.tool import KitTool, ToolCard, ToolResult

_DIGITS = 50
_SHOWN = 15
_BITS = 20_000
_LARGEST_EXPONENT = 1000


class Expression(FrozenModel):
    """What is to be calculated."""

    expression: str = Field(
        min_length=1,
        max_length=1000,
        description="numbers with a point as decimal mark and no other marks, + - * / // % **, parentheses, and the "
        "functions abs, min, max, sum, mean, round(x, places), floor, ceil, sqrt, exp, ln, log10; such as "
        "'round((1250 - 980) / 980 * 100, 1)'",
    )


class Calculator(KitTool):
    """Evaluates an expression by walking its syntax tree. Rejects everything but arithmetic."""

    card: ClassVar[ToolCard] = ToolCard(
        name="calculator",
        description="Calculates an arithmetic expression exactly. Right for every sum, difference, ratio and rounding.",
        inputs=Expression,
    )

    async def __call__(self, given: Expression) -> ToolResult:
        return ToolResult(text=calculate(given.expression))


def calculate(expression: str) -> str:
    """Return the value as text: exact, or rounded and marked with ≈. Raises ToolError for invalid expressions."""
    try:
        with localcontext(prec=_DIGITS):
            return _format(_Evaluator(expression.strip()).value)
    except SyntaxError:
        raise ToolError(f"{expression!r} is no arithmetic expression.") from None
    except ZeroDivisionError:
        raise ToolError(f"{expression!r} divides by zero.") from None
    except (DecimalException, OverflowError, RecursionError, MemoryError):
        raise ToolError(f"{expression!r} has no value that can be calculated.") from None


class _Evaluator:
    """Walks the syntax tree of an expression."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.value = self._evaluate(ast.parse(source, mode="eval").body)

    def _evaluate(self, node: ast.expr) -> Fraction:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return self._number(node)
        if isinstance(node, ast.UnaryOp) and type(node.op) in (ast.UAdd, ast.USub):
            value = self._evaluate(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _require_size(_OPERATORS[type(node.op)](self._evaluate(node.left), self._evaluate(node.right)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return _call(node.func.id, [self._evaluate(each) for each in node.args])
        raise ToolError(f"{self._source_of(node)!r} is no arithmetic; see what an expression can hold.")

    def _number(self, node: ast.Constant) -> Fraction:
        """Return the number as written. Python's own value is rounded to a float."""
        if isinstance(node.value, int):
            return Fraction(node.value)
        number = Decimal(self._source_of(node))
        if abs(number.adjusted()) > _LARGEST_EXPONENT:
            raise ToolError("The value is too large, or too fine, to be calculated.")
        return Fraction(number)

    def _source_of(self, node: ast.expr) -> str:
        return ast.get_source_segment(self._source, node) or self._source


def _call(name: str, values: list[Fraction]) -> Fraction:
    if name not in _FUNCTIONS:
        raise ToolError(f"There is no function {name!r}; there are {', '.join(sorted(_FUNCTIONS))}.")
    try:
        return _require_size(_FUNCTIONS[name](*values))
    except (TypeError, ValueError) as error:
        raise ToolError(f"{name} cannot be calculated so: {error}.") from None


def _require_size(value: Fraction) -> Fraction:
    if value.numerator.bit_length() + value.denominator.bit_length() > _BITS:
        raise ToolError("The value is too large, or too fine, to be calculated.")
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        return Fraction(_decimal(base) ** _decimal(exponent))
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if size > 1 and abs(exponent) * size > _BITS:
        raise ToolError("The value is too large, or too fine, to be calculated.")
    return Fraction(base ** int(exponent))


def _root(value: Fraction) -> Fraction:
    if value < 0:
        raise ToolError("A negative number has no square root here.")
    exact = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    return exact if exact * exact == value else Fraction(_decimal(value).sqrt())


def _rounded(value: Fraction, places: Fraction = Fraction(0)) -> Fraction:
    """Round half away from zero."""
    if places.denominator != 1 or abs(places) > _DIGITS:
        raise ToolError("Places to round to are a small whole number.")
    scaled = abs(value) * Fraction(10) ** int(places)
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Fraction(whole if value >= 0 else -whole) / Fraction(10) ** int(places)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _format(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    exact = _decimal(value)
    if rest == 1 and Fraction(exact) == value and len(exact.as_tuple().digits) <= _SHOWN:
        return f"{exact.normalize():f}"
    with localcontext(prec=_SHOWN):
        return f"≈ {+exact}"


_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda left, right: Fraction(left // right),
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_FUNCTIONS: dict[str, Callable[..., Fraction]] = {
    "abs": abs,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "sum": lambda *values: sum(values, Fraction(0)),
    "mean": lambda *values: sum(values, Fraction(0)) / len(values),
    "round": _rounded,
    "floor": lambda value: Fraction(value.numerator // value.denominator),
    "ceil": lambda value: Fraction(-(-value.numerator // value.denominator)),
    "sqrt": _root,
    "exp": lambda value: Fraction(_decimal(value).exp()),
    "ln": lambda value: Fraction(_decimal(value).ln()),
    "log10": lambda value: Fraction(_decimal(value).log10()),
}


_UNIT_DIGITS = 10


class Conversion(FrozenModel):
    """What is to be converted."""

    value: Decimal = Field(allow_inf_nan=False, description="the number")
    unit: str = Field(min_length=1, max_length=100, description="its unit, such as 'mile', 'kWh', '°F' or 'm/s'")
    into: str = Field(min_length=1, max_length=100, description="the unit to convert it into")


class ConvertUnits(KitTool):
    """Converts units of measure, not currencies."""

    card: ClassVar[ToolCard] = ToolCard(
        name="convert_units",
        description="Converts a value into another unit of measure: lengths, weights, temperatures, energy, speeds, "
        "data, times. Not currencies.",
        inputs=Conversion,
    )

    async def __call__(self, given: Conversion) -> ToolResult:
        found = convert(given.value, given.unit, given.into)
        return ToolResult(text=f"{given.value} {given.unit} = {found:.{_UNIT_DIGITS}g} {given.into}")


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


class Dates(KitTool):
    """Follows the Gregorian calendar. January 31 plus one month is the last day of February."""

    card: ClassVar[ToolCard] = ToolCard(
        name="dates",
        description="Calculates with dates: how many days are between two, which date is some days, weeks, months or "
        "years later or earlier, and on which day of the week a date falls.",
        inputs=DateQuestion,
    )

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

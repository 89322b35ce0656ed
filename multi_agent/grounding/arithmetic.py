"""Recomputes figures: finds the sum, difference, quotient or percentage of two others that gives a figure.

Careful readers of annual reports wrote "43.4 %" for 2,434 of 5,613 employees and cited both figures. Without this
check, the rules rejected each such claim, and a plan of five steps computed the figure again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import permutations, product

SIGNIFICANT = 3  # minimum significant digits of a figure; shorter ones match by chance
_FEWEST_ADDENDS, _MOST_ADDENDS = 3, 10  # figures of a sum; derivations cover two
_MOST_OPERANDS = 16  # maximum values; a figure with two readings, such as "2,434", counts twice

_OPERATIONS: tuple[tuple[str, Callable[[Decimal, Decimal], Decimal]], ...] = (
    ("{} + {}", lambda one, other: one + other),
    ("{} - {}", lambda one, other: one - other),
    ("{} / {}", lambda one, other: one / other),
    ("100 * {} / {}", lambda one, other: 100 * one / other),
    ("100 * ({0} - {1}) / {1}", lambda one, other: 100 * (one - other) / other),
)


def derivation(readings: Iterable[Decimal], operands: Sequence[Decimal], digits: int = SIGNIFICANT) -> str:
    """Return the formula by which two operands give the figure, rounded to its digits; '' if there is none.

    ``readings`` are the possible values of the figure. Returns '' for a figure with fewer significant digits than
    ``digits`` and for more than 16 operands, as formulas could then match by chance.
    """
    sought = [value for value in readings if len(value.normalize().as_tuple().digits) >= digits]
    if not sought or len(operands) > _MOST_OPERANDS:
        return ""
    return next((how for how, result in _results(operands) if any(_equals(result, value) for value in sought)), "")


def total(readings: Iterable[Decimal], addends: Sequence[Iterable[Decimal]]) -> str:
    """Return the sum that gives the figure, of one figure per quote in one of its readings; '' if there is none."""
    sought = set(readings)
    sums = product(*addends) if _FEWEST_ADDENDS <= len(addends) <= _MOST_ADDENDS else ()
    return next((" + ".join(f"{each:,f}" for each in terms) for terms in sums if sum(terms) in sought), "")


def _results(operands: Sequence[Decimal]) -> Iterator[tuple[str, Decimal]]:
    for one, other in permutations(operands, 2):
        for how, compute in _OPERATIONS:
            if other or "/" not in how:
                yield how.format(f"{one:,f}", f"{other:,f}"), compute(one, other)


def _equals(result: Decimal, value: Decimal) -> bool:
    """Return whether the result, rounded to the digits of the value, equals the value."""
    exponent = value.normalize().as_tuple().exponent
    return isinstance(exponent, int) and abs(abs(result) - abs(value)) <= Decimal(10) ** exponent / 2

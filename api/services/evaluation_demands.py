"""Demands on an evaluation, for CI: conditions on its figures, and a baseline that it must not fall behind.

Invalid demands are rejected before the first question is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import ge, gt, le, lt
from typing import NamedTuple

from api.errors import UsageError
from multi_agent.evaluation.metric import Figure, MetricClass, figures_of
from multi_agent.evaluation.records import EvaluationResult
from multi_agent.evaluation.store import EvaluationStore
from multi_agent.evaluation.summary import Comparison, Summary, against

SIGNIFICANT = 0.05
_CONDITION = re.compile(r"\s*([\w@.]+)\s*(<=|>=|<|>)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*")
_COMPARE = {"<": lt, "<=": le, ">": gt, ">=": ge}


class Condition(NamedTuple):
    """A condition that fails the evaluation if it holds, for example 'f1 < 0.7'."""

    figure: str
    sign: str
    bound: float

    def __str__(self) -> str:
        return f"{self.figure} {self.sign} {self.bound:g}"


class Verdict(NamedTuple):
    """The comparison of an evaluation with its baseline."""

    said: str
    """The difference in words. Empty if the evaluation is as good or better."""
    worse: bool
    """Whether the evaluation is significantly worse."""


class Demands:
    """The demands on evaluations of one question set. Raises UsageError for demands that cannot be checked.

    ``before`` is the baseline, which an evaluation must not fall behind in ``figure``.
    """

    def __init__(
        self,
        conditions: Sequence[str],
        before: EvaluationResult | None,
        figure: str,
        *,
        figures: Mapping[str, Figure],
        fingerprint: str,
    ) -> None:
        self._conditions = [_read_condition(each) for each in conditions]
        self._before, self._figure = before, figure
        demanded = [each.figure for each in self._conditions] + ([figure] if before else [])
        if unknown := [each for each in demanded if each not in figures]:
            raise UsageError(f"Unknown figure {unknown[0]!r}. Known: {', '.join(sorted(figures))}.")
        self._lower_is_better = before is not None and figures[figure].better == "lower"
        if before and before.evaluation.fingerprint != fingerprint:
            raise UsageError(
                f"{before.evaluation.id} has other questions ({before.evaluation.set_name}, {len(before.questions)}). "
                "Compare evaluations of the same set with the same --limit."
            )

    def broken(self, summary: Summary) -> list[str]:
        """Return the conditions that hold. Raises UsageError for a figure that no question has."""
        found = []
        for condition in self._conditions:
            if condition.figure not in summary.figures:
                raise UsageError(f"No question of the set has the figure {condition.figure!r}, so nobody can tell "
                                 f"whether {condition}; there are {', '.join(summary.figures)}.")  # fmt: skip
            value = summary.figures[condition.figure].mean
            if _COMPARE[condition.sign](value, condition.bound):
                found.append(f"{condition}: {condition.figure} is {value:.4g}")
        return found

    def held_against(self, result: EvaluationResult) -> Verdict:
        """Compare an evaluation with the baseline. Raises UsageError if one lacks the figure, EvaluationError."""
        if self._before is None:
            return Verdict("", worse=False)
        comparison = against(self._before, result)
        if self._figure not in comparison.figures:
            raise UsageError(f"Both have no figure {self._figure!r}; there are {', '.join(comparison.figures)}.")
        return self._verdict(comparison)

    def _verdict(self, comparison: Comparison) -> Verdict:
        paired = comparison.figures[self._figure]
        change = paired.difference.mean
        if not change or (change < 0) is self._lower_is_better:
            return Verdict("", worse=False)
        said = (
            f"{self._figure} is {'lower' if change < 0 else 'higher'} by {abs(change):.4g} (p = {paired.p_value:.3g})"
        )
        if paired.p_value < SIGNIFICANT:
            return Verdict(said, worse=True)
        needed = comparison.needed.get(self._figure)
        enough = f"; to tell a difference like this, it takes about {needed} questions" if needed else ""
        return Verdict(f"{said}, which may be chance{enough}", worse=False)


def demands_on(
    store: EvaluationStore,
    conditions: Sequence[str] | None,
    worse_than: str | None,
    figure: str,
    *,
    metrics: Mapping[str, MetricClass],
    fingerprint: str,
) -> Demands:
    """Build the demands from command-line options. Raises UsageError, EvaluationNotFound."""
    before = store.get(worse_than) if worse_than else None
    return Demands(conditions or (), before, figure, figures=figures_of(metrics.values()), fingerprint=fingerprint)


def _read_condition(condition: str) -> Condition:
    match = _CONDITION.fullmatch(condition)
    if not match:
        raise UsageError(
            f"Invalid condition {condition!r}. Write a figure, one of < <= > >=, and a number: 'f1 < 0.7'."
        )
    name, sign, bound = match.groups()
    return Condition(name, sign, float(bound))

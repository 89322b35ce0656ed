"""Quality gate for evaluations, e.g. in CI: conditions on figures, and a comparison with a baseline.

Invalid conditions are rejected before the first question is asked.
"""

import re
from collections.abc import Iterable, Sequence
from operator import ge, gt, le, lt
from typing import NamedTuple

from api.errors import UsageError
from multi_agent.evaluation.metric import Metric, collect_figures
from multi_agent.evaluation.store import EvaluationResult
from multi_agent.evaluation.summary import Summary, compare_evaluations

SIGNIFICANT = 0.05
_CONDITION = re.compile(r"\s*([\w@.]+)\s*(<=|>=|<|>)\s*(-?[0-9]+(?:\.[0-9]+)?)\s*")
_OPERATORS = {"<": lt, "<=": le, ">": gt, ">=": ge}


class Condition(NamedTuple):
    """A condition that makes the gate fail, e.g. 'f1 < 0.7'."""

    figure: str
    operator: str
    threshold: float

    def __str__(self) -> str:
        return f"{self.figure} {self.operator} {self.threshold:g}"


class EvaluationGate:
    """Checks evaluations against conditions and an optional baseline.

    ``figure`` is the figure that must not be worse than in the baseline. ``metrics`` and ``fingerprint`` describe the
    evaluations that will be checked. Raises UsageError for an unknown figure or a baseline with other questions.
    """

    def __init__(
        self, conditions: Sequence[str], baseline: EvaluationResult | None, figure: str, metrics: Iterable[Metric],
        fingerprint: str,
    ) -> None:  # fmt: skip
        self._conditions, figures = [_parse_condition(each) for each in conditions], collect_figures(metrics)
        self._baseline, self._figure = baseline, figure
        required = [each.figure for each in self._conditions] + ([figure] if baseline else [])
        if unknown := [each for each in required if each not in figures]:
            raise UsageError(f"Unknown figure {unknown[0]!r}. The figures are {', '.join(sorted(figures))}.")
        self._lower_is_better = baseline is not None and figures[figure].better == "lower"
        if baseline and baseline.evaluation.fingerprint != fingerprint:
            raise UsageError(
                f"{baseline.evaluation.id} has different questions ({baseline.evaluation.set_name}, "
                f"{len(baseline.questions)}). Only evaluations of the same set with the same --limit can be compared."
            )

    def failed_conditions(self, summary: Summary) -> list[str]:
        """Return a message for each condition that holds. Raises UsageError if a figure applies to no question."""
        found = []
        for condition in self._conditions:
            if condition.figure not in summary.figures:
                raise UsageError(
                    f"No question has the figure {condition.figure!r}, so '{condition}' cannot be checked. "
                    f"The figures are {', '.join(summary.figures)}."
                )
            value = summary.figures[condition.figure].mean
            if _OPERATORS[condition.operator](value, condition.threshold):
                found.append(f"{condition}: {condition.figure} is {value:.4g}")
        return found

    def compare_with_baseline(self, result: EvaluationResult) -> tuple[str, bool]:
        """Compare an evaluation with the baseline.

        Returns a message, which is empty unless the figure is worse, and whether the difference is significant.
        Raises UsageError if the figure is missing, EvaluationError.
        """
        if self._baseline is None:
            return "", False
        comparison = compare_evaluations(self._baseline, result)
        if self._figure not in comparison.figures:
            raise UsageError(
                f"The figure {self._figure!r} is missing in one evaluation. Both have {', '.join(comparison.figures)}."
            )
        paired = comparison.figures[self._figure]
        change = paired.difference.mean
        if not change or (change < 0) is self._lower_is_better:
            return "", False
        message = (
            f"{self._figure} is {'lower' if change < 0 else 'higher'} by {abs(change):.4g} (p = {paired.p_value:.3g})"
        )
        if paired.p_value < SIGNIFICANT:
            return message, True
        needed = comparison.needed.get(self._figure)
        hint = f" Detecting such a difference takes about {needed} questions." if needed else ""
        return f"{message}, which may be chance.{hint}", False


def _parse_condition(condition: str) -> Condition:
    match = _CONDITION.fullmatch(condition)
    if not match:
        raise UsageError(
            f"Invalid condition {condition!r}. Write a figure, one of < <= > >=, and a number, e.g. 'f1 < 0.7'."
        )
    figure, operator, threshold = match.groups()
    return Condition(figure, operator, float(threshold))

"""Agreement of a judge with people, over the answers that both graded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pydantic import Field

from base.models import FrozenModel
from multi_agent.evaluation.errors import EvaluationError
from multi_agent.evaluation.statistics import Interval, interval


class Calibration(FrozenModel):
    """Agreement between the judge and people."""

    agreement: Interval = Field(description="share of equal grades")
    kappa: float | None = Field(
        description="Cohen's kappa: agreement beyond chance; None if the judge or the people used only one grade"
    )
    too_kind: int = Field(description="number of answers that the judge graded higher than the people")
    too_strict: int = Field(description="number of answers that the judge graded lower")


def calibrate(judged: Mapping[str, float], labels: Mapping[str, float]) -> Calibration:
    """Compare grades by question id. Raises EvaluationError if no question has grades from both."""
    common = sorted(judged.keys() & labels.keys())
    if not common:
        raise EvaluationError("The judge and the labels have no graded answer in common.")
    pairs = [(judged[each], labels[each]) for each in common]
    return Calibration(
        agreement=interval([float(judge == person) for judge, person in pairs]),
        kappa=_kappa(pairs),
        too_kind=sum(judge > person for judge, person in pairs),
        too_strict=sum(judge < person for judge, person in pairs),
    )


def _kappa(pairs: list[tuple[float, float]]) -> float | None:
    """Return Cohen's kappa (Cohen 1960)."""
    ours, theirs = Counter(our for our, _ in pairs), Counter(their for _, their in pairs)
    if len(ours) < 2 or len(theirs) < 2:
        return None
    by_chance = sum(ours[grade] * theirs[grade] for grade in ours) / len(pairs) ** 2
    observed = sum(our == their for our, their in pairs) / len(pairs)
    return (observed - by_chance) / (1 - by_chance)

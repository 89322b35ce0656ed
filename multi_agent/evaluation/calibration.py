"""How far a judge agrees with people: on the answers that both have graded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pydantic import Field

from multi_agent.evaluation.errors import EvaluationError
from multi_agent.evaluation.statistics import Interval, interval
from vectorstore.models import FrozenModel


class Calibration(FrozenModel):
    """Agreement between the judge and people."""

    agreement: Interval = Field(description="share of equal grades")
    kappa: float | None = Field(
        description="Cohen's kappa: agreement beyond chance; None where one of both gives one grade only"
    )
    too_kind: int = Field(description="answers that the judge graded higher than people did")
    too_strict: int


def calibrate(judged: Mapping[str, float], labels: Mapping[str, float]) -> Calibration:
    """Grades by question id, of both. Raises EvaluationError if they have no question in common."""
    common = sorted(judged.keys() & labels.keys())
    if not common:
        raise EvaluationError("The judge and the people have graded no answer in common.")
    pairs = [(judged[each], labels[each]) for each in common]
    return Calibration(
        agreement=interval([float(ours == theirs) for ours, theirs in pairs]),
        kappa=_kappa(pairs),
        too_kind=sum(ours > theirs for ours, theirs in pairs),
        too_strict=sum(ours < theirs for ours, theirs in pairs),
    )


def _kappa(pairs: list[tuple[float, float]]) -> float | None:
    """Cohen 1960."""
    ours, theirs = Counter(our for our, _ in pairs), Counter(their for _, their in pairs)
    if len(ours) < 2 or len(theirs) < 2:
        return None
    by_chance = sum(ours[grade] * theirs[grade] for grade in ours) / len(pairs) ** 2
    observed = sum(our == their for our, their in pairs) / len(pairs)
    return (observed - by_chance) / (1 - by_chance)

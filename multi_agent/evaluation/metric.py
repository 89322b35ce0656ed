"""The protocol of metrics, and their discovery. To add a metric, add a file to ``metrics/``.

class TokenF1:
    card = MetricCard(name="token_f1", description="…", figures={"f1": Figure(…)})

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        return {"f1": …}
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from pydantic import Field

from base.models import FrozenModel
from multi_agent.discovery import find_classes
from multi_agent.evaluation.case import Case
from multi_agent.evaluation.errors import EvaluationError
from multi_agent.model import LLM

BUILT_IN = "multi_agent.evaluation.metrics"


class Figure(FrozenModel):
    """Describes one figure of a metric."""

    description: str
    better: Literal["higher", "lower", "neither"] = "higher"
    unit: str = Field(default="", description="empty for a share between 0 and 1")


class MetricCard(FrozenModel):
    """Describes a metric and its figures."""

    name: str
    description: str
    figures: Mapping[str, Figure] = Field(description="by name; names are unique across metrics")
    needs_judge: bool = Field(default=False, description="whether it calls a model")


@dataclass(frozen=True)
class MetricKit:
    """The dependencies of metrics."""

    judge: LLM | None = None


class Metric(Protocol):
    """Measures one answered question."""

    card: ClassVar[MetricCard]

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Return figures by name, without those that do not apply to this question.

        Raises MetricError if a figure applies but cannot be measured, LLMError if the judge fails.
        """
        ...


def discover(packages: Iterable[str] = (BUILT_IN,)) -> dict[str, Metric]:
    """Return the metrics in these packages by name. Raises EvaluationError if two define the same figure."""
    found: dict[str, Metric] = {}
    owners: dict[str, str] = {}
    makers = (each for package in packages for each in find_classes("metrics", package, MetricCard))
    for make in sorted(makers, key=lambda each: each.card.name):
        found[make.card.name] = make()
        for figure in make.card.figures:
            if figure in owners:
                raise EvaluationError(
                    f"The metrics {owners[figure]!r} and {make.card.name!r} both define the figure {figure!r}."
                )
            owners[figure] = make.card.name
    return found


def collect_figures(metrics: Iterable[Metric]) -> dict[str, Figure]:
    """Return the figures of all metrics by name."""
    return {name: figure for metric in metrics for name, figure in metric.card.figures.items()}

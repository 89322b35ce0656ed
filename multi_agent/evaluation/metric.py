"""The protocol of metrics, and their discovery. To add a metric, add a file to ``metrics/``.

class TokenF1:
    card = MetricCard(name="token_f1", description="…", figures={"f1": Figure(…)})

    def __init__(self, kit: MetricKit) -> None: ...

    async def measure(self, case: Case) -> Mapping[str, float]:
        return {"f1": …}
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, cast

from pydantic import Field

from base.models import FrozenModel
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

    async def measure(self, case: Case) -> Mapping[str, float]:
        """Return figures by name, without those that do not apply to this question.

        Raises MetricError if a figure applies but cannot be measured, LLMError if the judge fails.
        """
        ...


class MetricClass(Protocol):
    """A class that implements ``Metric``."""

    card: ClassVar[MetricCard]

    def __call__(self, kit: MetricKit) -> Metric: ...


def discover(packages: Iterable[str] = (BUILT_IN,)) -> dict[str, MetricClass]:
    """Return the metrics in these packages by name. Raises EvaluationError if two define the same figure."""
    found: dict[str, MetricClass] = {}
    figures: dict[str, str] = {}
    for package in packages:
        root = importlib.import_module(package)
        for info in pkgutil.iter_modules(root.__path__):
            module = importlib.import_module(f"{package}.{info.name}")
            for _, member in inspect.getmembers(module, inspect.isclass):
                card = getattr(member, "card", None)
                if member.__module__ != module.__name__ or not isinstance(card, MetricCard):
                    continue
                for figure in card.figures:
                    if figure in figures:
                        raise EvaluationError(
                            f"The metrics {figures[figure]!r} and {card.name!r} both define the figure {figure!r}."
                        )
                    figures[figure] = card.name
                found[card.name] = cast(Any, member)
    return found


def collect_figures(metrics: Iterable[MetricClass]) -> dict[str, Figure]:
    """Return the figures of all metrics by name."""
    return {name: figure for metric in metrics for name, figure in metric.card.figures.items()}

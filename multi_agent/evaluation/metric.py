"""The contract of a metric, and how metrics are found: a new one is a new file in ``metrics/``.

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

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.errors import EvaluationError
from multi_agent.llm.llm import LLM
from vectorstore.models import FrozenModel

BUILT_IN = "multi_agent.evaluation.metrics"


class Figure(FrozenModel):
    """One figure that a metric gives."""

    description: str
    better: Literal["higher", "lower", "neither"] = "higher"
    unit: str = Field(default="", description="empty for shares between 0 and 1")


class MetricCard(FrozenModel):
    """What a metric measures."""

    name: str
    description: str
    figures: Mapping[str, Figure] = Field(description="by name; names are unique over all metrics")
    needs_judge: bool = Field(default=False, description="whether it asks a model")


@dataclass(frozen=True)
class MetricKit:
    """What a metric may use."""

    judge: LLM | None = None


class Metric(Protocol):
    """Measures one answered question."""

    card: ClassVar[MetricCard]

    async def measure(self, case: Case) -> Mapping[str, float]:
        """Figures by name; those that do not apply to this question are left out.

        Raises MetricError if it applies and could not be told, LLMError if a judge could not be asked.
        """
        ...


class MetricClass(Protocol):
    """A class of metrics."""

    card: ClassVar[MetricCard]

    def __call__(self, kit: MetricKit) -> Metric: ...


def discover(packages: Iterable[str] = (BUILT_IN,)) -> dict[str, MetricClass]:
    """The metrics in the modules of these packages, by name. Raises EvaluationError if two give the same figure."""
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
                            f"The metrics {figures[figure]!r} and {card.name!r} both give {figure!r}."
                        )
                    figures[figure] = card.name
                found[card.name] = cast(Any, member)
    return found


def figures_of(metrics: Iterable[MetricClass]) -> dict[str, Figure]:
    """All figures of these metrics, by name."""
    return {name: figure for metric in metrics for name, figure in metric.card.figures.items()}

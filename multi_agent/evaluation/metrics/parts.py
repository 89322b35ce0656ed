"""Measures how much of a question in several parts was answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit


class Parts:
    """The answered parts, by the verdicts in the answer."""

    card: ClassVar = MetricCard(
        name="parts",
        description="How many parts of a question were answered, if the run found several.",
        figures={"parts_answered": Figure(description="share of the parts with an answer")},
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure answers with parts."""
        parts = case.answer.parts
        answered = sum(each.verdict == "answered" for each in parts)
        return {"parts_answered": answered / len(parts)} if parts else {}

"""Measures whether the run asked back exactly the questions that do not say what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.question_set import AnswerType


class Clarification:
    """Whether asking back was right."""

    card: ClassVar = MetricCard(
        name="clarification",
        description="Whether the run asked what the question means exactly if the question is unclear.",
        figures={
            "asked_back": Figure(description="share of unclear questions that were asked back"),
            "asked_back_wrongly": Figure(description="share of the other questions that were", better="lower"),
        },
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure every run."""
        is_unclear = case.question.type is AnswerType.UNCLEAR
        return {"asked_back" if is_unclear else "asked_back_wrongly": float(case.asked_back)}

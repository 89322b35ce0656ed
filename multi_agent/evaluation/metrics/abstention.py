"""Measures whether the run answered exactly the questions that have an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit


class Abstention:
    """Whether answering or abstaining was right, regardless of the answer."""

    card: ClassVar = MetricCard(
        name="abstention",
        description="Whether the run answered exactly if the documents contain an answer.",
        figures={
            "abstention": Figure(description="answered if there is an answer, abstained if there is none"),
            "answered_wrongly": Figure(
                description="share of questions without an answer that were answered", better="lower"
            ),
            "refused_wrongly": Figure(
                description="share of questions with an answer that were not answered", better="lower"
            ),
        },
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Return nothing if the set does not say whether there is an answer."""
        answerable = case.question.answerable
        if answerable is None:
            return {}
        decided = {"abstention": float(case.answered if answerable else case.abstained)}
        if answerable:
            return {**decided, "refused_wrongly": float(not case.answered)}
        return {**decided, "answered_wrongly": float(case.answered)}

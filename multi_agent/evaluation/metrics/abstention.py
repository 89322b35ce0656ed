"""Answering what should not be, and refusing what should be answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit


class Abstention:
    """Whether it was right to answer at all; not whether the answer is right."""

    card: ClassVar = MetricCard(
        name="abstention",
        description="Whether it was answered when the documents hold an answer, and only then.",
        figures={
            "abstention": Figure(description="answered what has an answer, refused what has none"),
            "answered_wrongly": Figure(description="of questions without an answer: answered", better="lower"),
            "refused_wrongly": Figure(description="of questions with an answer: not answered", better="lower"),
        },
    )

    def __init__(self, kit: MetricKit) -> None:
        pass

    async def measure(self, case: Case) -> Mapping[str, float]:
        """Applies where the set says whether there is an answer."""
        answerable = case.question.answerable
        if answerable is None:
            return {}
        decided = {"abstention": float(case.answered if answerable else case.abstained)}
        if answerable:
            return {**decided, "refused_wrongly": float(not case.answered)}
        return {**decided, "answered_wrongly": float(case.answered)}

"""Exact match and token F1, as SQuAD 2.0 scores them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.normalize import normalised, token_f1
from multi_agent.evaluation.question_set import AnswerType


class ExactMatch:
    """The best over the accepted answers; to a question without an answer, none is right and any is wrong."""

    card: ClassVar = MetricCard(
        name="exact_match",
        description="The bare answer against the accepted ones, by SQuAD's normalisation.",
        figures={
            "exact_match": Figure(description="the same words"),
            "f1": Figure(description="how many words they share"),
        },
    )

    def __init__(self, kit: MetricKit) -> None:
        pass

    async def measure(self, case: Case) -> Mapping[str, float]:
        """Applies where short answers are given, or none is to be. A run that failed has nothing right."""
        question = case.question
        if question.type is AnswerType.LIST or (question.type is not AnswerType.NONE and not question.accepted):
            return {}
        if not (case.answered or case.abstained):
            return {"exact_match": 0.0, "f1": 0.0}
        said = case.said if case.answered else ""
        accepted = [each for each in question.accepted if normalised(each)] or [""]
        return {
            "exact_match": float(any(normalised(said) == normalised(each) for each in accepted)),
            "f1": max(token_f1(said, each) for each in accepted),
        }

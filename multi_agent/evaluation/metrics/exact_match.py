"""Exact match and token F1 as in SQuAD 2.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.normalize import normalize_answer, token_f1
from multi_agent.evaluation.question_set import AnswerType


class ExactMatch:
    """The best score over the accepted answers. For a question without an answer, only abstaining is right."""

    card: ClassVar = MetricCard(
        name="exact_match",
        description="The short answer compared with the accepted ones, with SQuAD's normalization.",
        figures={
            "exact_match": Figure(description="share of answers with the same words"),
            "f1": Figure(description="F1 of shared words"),
        },
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure questions with accepted answers, except lists, or of type none. A failed run scores 0."""
        question = case.question
        if question.type is AnswerType.LIST or (question.type is not AnswerType.NONE and not question.accepted):
            return {}
        if not (case.answered or case.abstained):
            return {"exact_match": 0.0, "f1": 0.0}
        text = case.short_text if case.answered else ""
        accepted = [each for each in question.accepted if normalize_answer(each)] or [""]
        return {
            "exact_match": float(any(normalize_answer(text) == normalize_answer(each) for each in accepted)),
            "f1": max(token_f1(text, each) for each in accepted),
        }

"""Measures whether a question was answered: wholly, in part, not at all, or after asking back."""

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.question_set import AnswerType


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

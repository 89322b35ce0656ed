"""Precision and recall of list answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.list_items import match_items
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.question_set import AnswerType


class ListMatch:
    card: ClassVar = MetricCard(
        name="list_match",
        description="The items of a list answer compared with the accepted ones, in any order.",
        figures={
            "list_precision": Figure(description="share of the answer's items that are right"),
            "list_recall": Figure(description="share of the accepted items that the answer has"),
        },
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure questions of type list. Without an answer there is no precision."""
        if case.question.type is not AnswerType.LIST or not case.question.accepted:
            return {}
        right, wrong, missing = match_items(case.question, case)
        recall = {"list_recall": right / (right + missing)}
        return {**recall, "list_precision": right / (right + wrong)} if right + wrong else recall

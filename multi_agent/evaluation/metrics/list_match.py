"""Precision and recall of answers that are lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.list_items import matched
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.question_set import AnswerType


class ListMatch:
    """By items, in any order."""

    card: ClassVar = MetricCard(
        name="list_match",
        description="The items of an answer that is a list against the accepted ones, in any order.",
        figures={
            "list_precision": Figure(description="of the items of the answer, how many are right"),
            "list_recall": Figure(description="of the accepted items, how many the answer has"),
        },
    )

    def __init__(self, kit: MetricKit) -> None:
        pass

    async def measure(self, case: Case) -> Mapping[str, float]:
        """Applies to questions of type list; there is no precision where nothing was answered."""
        if case.question.type is not AnswerType.LIST or not case.question.accepted:
            return {}
        right, wrong, missing = matched(case.question, case)
        recall = {"list_recall": right / (right + missing)}
        return {**recall, "list_precision": right / (right + wrong)} if right + wrong else recall

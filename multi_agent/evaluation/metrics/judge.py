"""Lets a model grade answers by comparing them with the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.errors import MetricError
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.question_set import AnswerType, Question
from multi_agent.prompt import Prompt

_SCORES = {"correct": 1.0, "partly": 0.5, "wrong": 0.0}


class Grade(BaseModel):
    """What the judge says."""

    model_config = ConfigDict(extra="forbid")

    comparison: str = Field(description="what the reference says and what the answer says, in a sentence or two")
    grade: Literal["correct", "partly", "wrong"]


class Judge:
    """A model that grades with a rubric. ``calibration.py`` measures its agreement with people."""

    card: ClassVar = MetricCard(
        name="judge",
        description="A model compares the answer with the reference, following a rubric.",
        figures={"judged": Figure(description="the judge's grade: 1 correct, 0.5 partly, 0 wrong")},
        needs_judge=True,
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure questions with a reference. Raises LLMError, or MetricError without a judge."""
        reference = find_reference(case.question)
        if not reference:
            return {}
        if not (case.answered or case.abstained):
            return {"judged": 0.0}  # a failed run has nothing to grade
        if kit.judge is None:
            raise MetricError("No judge is configured. Name the endpoint of its model.")
        asked, answer = case.question.question, _answer_text(case)
        messages = Prompt.shipped("judge").render(question=asked, reference=reference, answer=answer)
        grade = (await kit.judge.complete(messages, Grade)).value.grade
        return {"judged": _SCORES[grade]}


def _answer_text(case: Case) -> str:
    """Return the answer. If the run abstained, return a notice and its explanation."""
    return case.full_text if case.answered else f"{Prompt.part('judge_not_found')} {case.full_text}".strip()


def find_reference(question: Question) -> str:
    """Return the full answer, else the accepted ones, else an empty string."""
    if question.type is AnswerType.NONE:
        return Prompt.part("judge_no_answer")
    if question.answer:
        return question.answer
    return (", " if question.type is AnswerType.LIST else ", or: ").join(question.accepted)

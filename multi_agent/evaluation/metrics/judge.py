"""Whether an answer is right in the eyes of a model that is shown the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.errors import MetricError
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.question_set import AnswerType, Question
from multi_agent.llm.llm import LLM
from multi_agent.prompt import Prompt

_WORTH = {"correct": 1.0, "partly": 0.5, "wrong": 0.0}


class Grade(BaseModel):
    """What the judge says."""

    model_config = ConfigDict(extra="forbid")

    comparison: str = Field(description="what the reference says and what the answer says, in a sentence or two")
    grade: Literal["correct", "partly", "wrong"]


class Judge:
    """A model with a rubric; how far it can be trusted, its calibration against people tells (``calibration.py``)."""

    card: ClassVar = MetricCard(
        name="judge",
        description="A model grades the answer against the reference, by a rubric.",
        figures={"judged": Figure(description="1 correct, 0.5 partly, 0 wrong, says the judge")},
        needs_judge=True,
    )

    def __init__(self, kit: MetricKit) -> None:
        self._judge: LLM | None = kit.judge
        self._prompt = Prompt.shipped("judge")

    async def measure(self, case: Case) -> Mapping[str, float]:
        """Applies where there is a reference. Raises LLMError; MetricError without a judge."""
        reference = reference_of(case.question)
        if not reference:
            return {}
        if not (case.answered or case.abstained):
            return {"judged": 0.0}  # the run failed: there is nothing to grade
        if self._judge is None:
            raise MetricError("There is no judge: name the endpoint of its model.")
        messages = self._prompt.render(question=case.question.question, reference=reference, answer=_shown(case))
        grade = (await self._judge.complete(messages, Grade)).value.grade
        return {"judged": _WORTH[grade]}


def _shown(case: Case) -> str:
    """The answer; of one that was not found, that this is said, and what is told instead."""
    return case.in_full if case.answered else f"{Prompt.part('judge_not_found')} {case.in_full}".strip()


def reference_of(question: Question) -> str:
    """The answer in full, else the accepted ones; empty if the set gives neither."""
    if question.type is AnswerType.NONE:
        return Prompt.part("judge_no_answer")
    if question.answer:
        return question.answer
    return (", " if question.type is AnswerType.LIST else ", or: ").join(question.accepted)

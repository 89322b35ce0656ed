"""Metrics of a model: it grades answers, and judges whether quotes support the claims that cite them."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.evaluation.case import Case, Cited
from multi_agent.evaluation.errors import MetricError
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.question_set import AnswerType, Question
from multi_agent.prompt import Prompt
from multi_agent.values.context import Claim

_SCORES = {"correct": 1.0, "partly": 0.5, "wrong": 0.0}


class Grade(BaseModel):
    """What the judge says."""

    model_config = ConfigDict(extra="forbid")

    comparison: str = Field(description="what the reference says and what the answer says, in a sentence or two")
    grade: Literal["correct", "partly", "wrong"]


class Judge:
    """A model that grades with a rubric."""

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
        asked, answer = case.question.question, case.full_text
        if not case.answered:
            answer = f"{Prompt.part('judge_not_found')} {answer}".strip()
        messages = Prompt.shipped("judge").render(question=asked, reference=reference, answer=answer)
        grade = (await kit.judge.complete(messages, Grade)).value.grade
        return {"judged": _SCORES[grade]}


def find_reference(question: Question) -> str:
    """Return the full answer, else the accepted ones, else an empty string."""
    if question.type is AnswerType.NONE:
        return Prompt.part("judge_no_answer")
    if question.answer:
        return question.answer
    return (", " if question.type is AnswerType.LIST else ", or: ").join(question.accepted)


_SUPPORT = {"full": 1.0, "part": 0.5, "none": 0.0}
_RETRIES = 1


class Verdict(BaseModel):
    """What the judge says of one statement."""

    model_config = ConfigDict(extra="forbid")

    statement: int = Field(description="its number")
    reason: str = Field(description="what the quotes leave open, in a few words; empty if nothing")
    support: Literal["full", "part", "none"]


class Verdicts(BaseModel):
    """Of all statements."""

    model_config = ConfigDict(extra="forbid")

    verdicts: tuple[Verdict, ...]


class Support:
    """One model call per answer, for all claims with quotes."""

    card: ClassVar = MetricCard(
        name="support",
        description="A model judges whether the quotes of each claim support it.",
        figures={
            "claims_borne_out": Figure(description="mean support of claims with quotes: 1 full, 0.5 partial, 0 none")
        },
        needs_judge=True,
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure answers with quoted claims. Raises LLMError, or MetricError without a judge or all verdicts."""
        claims = [claim for claim in case.answer.claims if claim.evidence]
        if not (case.answered and claims):
            return {}
        if kit.judge is None:
            raise MetricError("No judge is configured. Name the endpoint of its model.")
        prompt = Prompt.shipped("judge_support")
        messages = prompt.render(question=case.question.question, statements=_format_claims(claims, case))
        for _ in range(_RETRIES + 1):
            completion = await kit.judge.complete(messages, Verdicts)
            verdicts = {each.statement: _SUPPORT[each.support] for each in completion.value.verdicts}
            if verdicts.keys() == set(range(1, len(claims) + 1)):
                return {"claims_borne_out": sum(verdicts.values()) / len(verdicts)}
            faults = f"it has verdicts on {sorted(verdicts)}; there are statements 1 to {len(claims)}."
            messages += prompt.again(completion.value.model_dump_json(), faults=faults)
        raise MetricError(f"The judge's response is still invalid after a retry: {faults}")


def _format_claims(claims: list[Claim], case: Case) -> str:
    quotes = {each.number: each.quote for each in case.answer.evidence}
    cited = {each.quote: each for each in case.cited}
    return "\n\n".join(
        "\n".join([f"{number}. {claim.text}", *(_format_quote(cited[quotes[each]]) for each in claim.evidence)])
        for number, claim in enumerate(claims, start=1)
    )


def _format_quote(cited: Cited) -> str:
    title = f", titled “{cited.title}”" if cited.title else ""
    return f'   - from {cited.document}{title}: "{cited.quote}"'

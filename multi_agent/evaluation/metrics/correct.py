"""Whether the answer is right, compared as what it is: a number, a date, a list, yes or no, or words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.listing import matched
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.normalising import normalised, numbers_in, stands_in
from multi_agent.evaluation.question_set import AnswerType, Question
from multi_agent.written import read_date, read_number


class Correct:
    """One figure for all types, so that a set of mixed questions has an accuracy."""

    card: ClassVar = MetricCard(
        name="correct",
        description="The answer against the accepted ones, by the type of the question.",
        figures={"correct": Figure(description="right, by the type of the question")},
    )

    def __init__(self, kit: MetricKit) -> None:
        pass

    async def measure(self, case: Case) -> Mapping[str, float]:
        """Applies where short answers are given, or none is to be. Who does not answer what has one, is wrong."""
        question = case.question
        if question.type is AnswerType.NONE:
            return {"correct": float(case.abstained)}
        if not question.accepted:
            return {}
        return {"correct": float(case.answered and _RIGHT[question.type](question, case))}


def _number(question: Question, case: Case) -> bool:
    """The first number of the short form; where there is none, any number of the text. Or an accepted wording."""
    said = list(numbers_in(case.said))
    candidates = said[:1] if case.answer.short else said
    tolerance = Decimal(str(question.tolerance))
    wanted = {value for each in question.accepted for value in _values(each)}
    near = any(abs(ours - theirs) <= tolerance for values in candidates for ours in values for theirs in wanted)
    return near or any(normalised(case.said) == normalised(each) for each in question.accepted)


def _values(accepted: str) -> frozenset[Decimal]:
    return read_number(accepted) or next(numbers_in(accepted), frozenset())


def _date(question: Question, case: Case) -> bool:
    wanted = {day for each in question.accepted for day in read_date(each)}
    said = read_date(case.said.strip(" ."))
    return bool(said & wanted) or _text(question, case)


def _list(question: Question, case: Case) -> bool:
    right = matched(question, case)
    return right.missing == 0 and right.wrong == 0


def _yes_no(question: Question, case: Case) -> bool:
    first = normalised(case.said).split()[:1]
    return bool(first) and first[0] in {each.casefold() for each in question.accepted}


def _text(question: Question, case: Case) -> bool:
    return any(stands_in(each, case.said) for each in question.accepted)


_RIGHT: dict[AnswerType, Callable[[Question, Case], bool]] = {
    AnswerType.NUMBER: _number,
    AnswerType.DATE: _date,
    AnswerType.LIST: _list,
    AnswerType.YES_NO: _yes_no,
    AnswerType.TEXT: _text,
}

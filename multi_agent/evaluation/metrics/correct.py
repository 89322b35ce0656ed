"""Whether the answer is right, compared as what it is: a number, a date, a list, yes or no, or words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.list_items import matched
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.normalize import Amount, amounts_in, normalised, stands_in
from multi_agent.evaluation.question_set import AnswerType, Question
from multi_agent.evaluation.units import converted
from multi_agent.records.numbers_and_dates import read_date, read_number

_CERTAIN_DIGITS = 12  # of a value that was converted


class Correct:
    """One figure for all types, so that a set of mixed questions has an accuracy."""

    card: ClassVar = MetricCard(
        name="correct",
        description="The answer against the accepted ones, by the type of the question.",
        figures={
            "correct": Figure(description="right, by the type of the question"),
            "unit_named": Figure(description="of numbers in a unit: the answer names it, or one that converts into it"),
        },
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
        correct = {"correct": float(case.answered and _RIGHT[question.type](question, case))}
        if case.answered and question.type is AnswerType.NUMBER and question.unit:
            return correct | {"unit_named": float(any(_names(question.unit, each) for each in _amounts(case)))}
        return correct


def _number(question: Question, case: Case) -> bool:
    """One of the numbers is near, in the unit of the question. Or it is an accepted wording without any number.

    As words, numbers lose their signs and marks: "-25" is "25", and "1.5" is "15".
    """
    tolerance = Decimal(str(question.tolerance))
    values = {each: _values(each) for each in question.accepted}
    wanted = frozenset[Decimal]().union(*values.values())
    said = {value for each in _amounts(case) for value in _in_unit(question.unit, each)}
    near = any(abs(ours - theirs) <= tolerance for ours in said for theirs in wanted)
    return near or any(normalised(case.said) == normalised(each) for each in values if not values[each])


def _amounts(case: Case) -> list[Amount]:
    """The first number of the short form; where there is none, any number of the text."""
    said = list(amounts_in(case.said))
    return said[:1] if case.answer.short else said


def _in_unit(unit: str, said: Amount) -> Iterator[Decimal]:
    """What it is in the unit; the number alone where another is not named, or cannot be converted into it."""
    for value in said.values:
        there = None if _is(unit, said) else converted(value, said.behind, unit)
        yield value if there is None else Decimal(f"{there:.{_CERTAIN_DIGITS}g}")


def _names(unit: str, said: Amount) -> bool:
    return _is(unit, said) or any(converted(value, said.behind, unit) is not None for value in said.values)


def _is(unit: str, said: Amount) -> bool:
    """Whether the unit itself stands behind the number, whatever follows."""
    behind, named = f"{said.behind.casefold()} ", unit.casefold()
    return behind.startswith(named) and not (named[-1:].isalnum() and behind[len(named)].isalnum())


def _values(accepted: str) -> frozenset[Decimal]:
    return read_number(accepted) or next((each.values for each in amounts_in(accepted)), frozenset())


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

"""Compares the answer with the accepted ones by type: number, date, list, yes or no, or text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.list_items import match_items
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.normalize import contains_phrase, normalize_answer
from multi_agent.evaluation.question_set import AnswerType, Question
from multi_agent.evaluation.units import convert_unit
from multi_agent.records.numbers_and_dates import Amount, find_amounts, read_date, read_number

_CERTAIN_DIGITS = 12  # of a converted value


class Correct:
    """Accuracy over questions of all types."""

    card: ClassVar = MetricCard(
        name="correct",
        description="Whether the answer equals an accepted one, by the type of the question.",
        figures={
            "correct": Figure(description="right, by the type of the question"),
            "nearest": Figure(description="share of unanswered questions whose nearest answer is right"),
            "unit_named": Figure(
                description="share of numbers with a unit where the answer names it, or a convertible one"
            ),
        },
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure questions that have accepted answers, or the type ``none`` or ``unclear``.

        Abstaining from an answerable question is wrong.
        """
        question = case.question
        if question.type is AnswerType.NONE:
            return {"correct": float(case.abstained)}
        if question.type is AnswerType.UNCLEAR:
            return {"correct": float(case.asked_back)}
        if not question.accepted:
            return {}
        correct = {"correct": float(case.answered and _COMPARE[question.type](question, case))}
        if case.abstained:
            return correct | {"nearest": float(_is_nearest_right(question, case))}
        if case.answered and question.type is AnswerType.NUMBER and question.unit:
            return correct | {"unit_named": float(any(_names_unit(question.unit, each) for each in _get_amounts(case)))}
        return correct


def _is_nearest_right(question: Question, case: Case) -> bool:
    nearest = case.answer.nearest
    if nearest is None:
        return False
    answer = case.answer.model_copy(update={"short": nearest.answer})
    return _COMPARE[question.type](question, case.model_copy(update={"answer": answer}))


def _compare_number(question: Question, case: Case) -> bool:
    """Return whether a number is within the tolerance, or the text equals an accepted answer without a number.

    Answers with numbers are not compared as text: normalization turns "-25" into "25" and "1.5" into "15".
    """
    tolerance = Decimal(str(question.tolerance))
    values = {each: _parse_values(each) for each in question.accepted}
    wanted = frozenset[Decimal]().union(*values.values())
    found = {value for each in _get_amounts(case) for value in _convert_values(question.unit, each)}
    close = any(abs(ours - theirs) <= tolerance for ours in found for theirs in wanted)
    return close or any(
        normalize_answer(case.short_text) == normalize_answer(each) for each in values if not values[each]
    )


def _get_amounts(case: Case) -> list[Amount]:
    """Return the first number of the short answer, or without one all numbers of the text."""
    amounts = list(find_amounts(case.short_text))
    return amounts[:1] if case.answer.short else amounts


def _convert_values(unit: str, amount: Amount) -> Iterator[Decimal]:
    """Yield the values in the unit, unconverted if the answer has no unit that converts into it."""
    for value in amount.values:
        converted = None if _has_unit(unit, amount) else convert_unit(value, amount.suffix, unit)
        yield value if converted is None else Decimal(f"{converted:.{_CERTAIN_DIGITS}g}")


def _names_unit(unit: str, amount: Amount) -> bool:
    return _has_unit(unit, amount) or any(
        convert_unit(value, amount.suffix, unit) is not None for value in amount.values
    )


def _has_unit(unit: str, amount: Amount) -> bool:
    """Return whether the text after the number starts with the unit."""
    suffix, name = f"{amount.suffix.casefold()} ", unit.casefold()
    return suffix.startswith(name) and not (name[-1:].isalnum() and suffix[len(name)].isalnum())


def _parse_values(accepted: str) -> frozenset[Decimal]:
    return read_number(accepted) or next((each.values for each in find_amounts(accepted)), frozenset())


def _compare_date(question: Question, case: Case) -> bool:
    wanted = {day for each in question.accepted for day in read_date(each)}
    found = read_date(case.short_text.strip(" ."))
    return bool(found & wanted) or _compare_text(question, case)


def _compare_list(question: Question, case: Case) -> bool:
    match = match_items(question, case)
    return match.missing == 0 and match.wrong == 0


def _compare_yes_no(question: Question, case: Case) -> bool:
    first = normalize_answer(case.short_text).split()[:1]
    return bool(first) and first[0] in {each.casefold() for each in question.accepted}


def _compare_text(question: Question, case: Case) -> bool:
    return any(contains_phrase(each, case.short_text) for each in question.accepted)


_COMPARE: dict[AnswerType, Callable[[Question, Case], bool]] = {
    AnswerType.NUMBER: _compare_number,
    AnswerType.DATE: _compare_date,
    AnswerType.LIST: _compare_list,
    AnswerType.YES_NO: _compare_yes_no,
    AnswerType.TEXT: _compare_text,
}

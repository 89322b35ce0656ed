"""Compares the answer with the accepted ones by type: number, date, list, yes or no, or text."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import ClassVar

from multi_agent.errors import ToolError
from multi_agent.evaluation.case import Case, contains_phrase, match_items, normalize_answer, token_f1
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit
from multi_agent.evaluation.question_set import AnswerType, Question
from multi_agent.records.numbers_and_dates import Amount, find_amounts, read_date, read_number
from multi_agent.records.units import convert


def convert_unit(value: Decimal, unit: str, into: str) -> float | None:
    """Return the value in the other unit, or None if a unit is unknown or the dimensions differ."""
    try:
        return convert(value, unit, into)
    except ToolError:
        return None


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

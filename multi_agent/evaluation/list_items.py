"""Compares the items of a list answer with the accepted items."""

from __future__ import annotations

import re
from typing import NamedTuple

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.normalize import contains_phrase
from multi_agent.evaluation.question_set import Question

_SEPARATORS = re.compile(r"[;\n]")
_COMMAS = re.compile(r",(?!\d)")  # not inside numbers


class ItemMatch(NamedTuple):
    """Counts of right, wrong and missing items."""

    right: int
    wrong: int
    missing: int


def match_items(question: Question, case: Case) -> ItemMatch:
    """Match the items of the answer with the accepted ones. An item is right if it contains an accepted one."""
    items = _items(case)
    missing = [each for each in question.accepted if not any(contains_phrase(each, item) for item in items)]
    wrong = [item for item in items if not any(contains_phrase(each, item) for each in question.accepted)]
    return ItemMatch(len(question.accepted) - len(missing), len(wrong), len(missing))


def _items(case: Case) -> list[str]:
    """Split the short answer at semicolons or line ends, else at commas. Without a short answer, return the claims."""
    if not case.answered:
        return []
    if not case.answer.short:
        return [claim.text for claim in case.answer.claims]
    marks = _SEPARATORS if _SEPARATORS.search(case.answer.short) else _COMMAS
    return [item for item in marks.split(case.answer.short) if item.strip()]

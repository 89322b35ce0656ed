"""The items of an answer that is a list, against the accepted ones."""

from __future__ import annotations

import re
from typing import NamedTuple

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.normalize import stands_in
from multi_agent.evaluation.question_set import Question

_SEPARATORS = re.compile(r"[;\n]")
_COMMAS = re.compile(r",(?!\d)")  # not those within numbers


class Matched(NamedTuple):
    """How the items of an answer and the accepted ones fit together."""

    right: int
    wrong: int
    missing: int


def matched(question: Question, case: Case) -> Matched:
    """An item of the answer is right if an accepted one stands in it; each accepted one is to be found once."""
    items = _items(case)
    missing = [each for each in question.accepted if not any(stands_in(each, item) for item in items)]
    wrong = [item for item in items if not any(stands_in(each, item) for each in question.accepted)]
    return Matched(len(question.accepted) - len(missing), len(wrong), len(missing))


def _items(case: Case) -> list[str]:
    """Of the short form, at semicolons or line ends, else at commas; without one, each claim is an item."""
    if not case.answered:
        return []
    if not case.answer.short:
        return [claim.text for claim in case.answer.claims]
    marks = _SEPARATORS if _SEPARATORS.search(case.answer.short) else _COMMAS
    return [item for item in marks.split(case.answer.short) if item.strip()]

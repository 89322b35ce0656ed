"""Where a wrong answer went wrong, derived from the trace and the gold, not guessed by a model.

The way of an answer is searched from its beginning: the first stage at which the gold is no longer there is where it
was lost. Without gold, that stage cannot be told, and it is said so.
"""

from __future__ import annotations

from enum import StrEnum

from multi_agent.answer import Status
from multi_agent.evaluation.case import Case, Passage, holds, is_document, lies_in, on_page, overlap
from multi_agent.evaluation.question_set import Gold


class Place(StrEnum):
    """Where it went wrong."""

    RIGHT = "right"
    RUN_FAILED = "run failed"
    ANSWERED_WRONGLY = "answered what has no answer"
    NOT_RETRIEVED = "not retrieved"
    NOT_EXTRACTED = "retrieved but not extracted"
    NOT_USED = "extracted but not used"
    REFUSED_WRONGLY = "all there, and not answered"
    WRONG_COMPUTING = "computed wrongly"
    WRONG_CONCLUSION = "used, and still not right"
    UNKNOWN = "not to be told without gold"


def place_of(case: Case, *, right: bool) -> Place:
    """Where this answer went wrong, if it did."""
    if case.answer.status in (Status.FAILED, Status.CANCELLED):
        return Place.RUN_FAILED
    if right:
        return Place.RIGHT
    if case.question.answerable is False:
        return Place.ANSWERED_WRONGLY
    gold = case.question.gold
    if not gold:
        return Place.UNKNOWN
    if not all(any(_found(each, passage) for passage in case.retrieved) for each in gold):
        return Place.NOT_RETRIEVED
    if not all(any(lies_in(each, item) for item in case.extracted) for each in gold):
        return Place.NOT_EXTRACTED
    if not case.answered:
        return Place.REFUSED_WRONGLY
    if not all(any(lies_in(each, item) for item in case.cited) for each in gold):
        return Place.NOT_USED
    computed = any(claim.computations for claim in case.answer.claims)
    return Place.WRONG_COMPUTING if computed else Place.WRONG_CONCLUSION


def _found(gold: Gold, passage: Passage) -> bool:
    if gold.quote:
        return holds(gold, passage.document, passage.text) or overlap(gold, passage.document, passage.text)
    return on_page(gold, passage.document, passage.pages) if gold.pages else is_document(gold, passage.document)

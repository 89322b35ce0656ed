"""Finds the stage at which a wrong answer failed by comparing the trace with the gold, without a model.

The stages retrieval, extraction and use are checked in this order. The first stage that lacks gold is the cause.
Without gold, the stage is unknown.
"""

from __future__ import annotations

from enum import StrEnum

from multi_agent.evaluation.case import Case, Passage, contains_gold, is_document, matches_gold, on_page, overlaps
from multi_agent.evaluation.question_set import AnswerType, Gold
from multi_agent.values.answer import Status


class Place(StrEnum):
    """The outcome of a question: right, or the stage that failed. The values are stored."""

    RIGHT = "right"
    RUN_FAILED = "run failed"
    ANSWERED_WRONGLY = "answered what has no answer"
    NOT_ASKED_BACK = "unclear, and not asked back"
    ASKED_BACK_WRONGLY = "clear, and asked back"
    NOT_RETRIEVED = "not retrieved"
    NOT_EXTRACTED = "retrieved but not extracted"
    NOT_USED = "extracted but not used"
    REFUSED_WRONGLY = "all there, and not answered"
    WRONG_COMPUTING = "computed wrongly"
    WRONG_CONCLUSION = "used, and still not right"
    UNKNOWN = "wrong, cause unknown"

    @classmethod
    def _missing_(cls, value: object) -> Place | None:
        return cls.UNKNOWN if value == "not to be told without gold" else None  # the name in older evaluations


def find_failure(case: Case, *, right: bool) -> Place:
    """Return the stage at which the answer failed, or ``Place.RIGHT``."""
    if case.answer.status in (Status.FAILED, Status.CANCELLED):
        return Place.RUN_FAILED
    if right:
        return Place.RIGHT
    if case.question.type is AnswerType.UNCLEAR:
        return Place.NOT_ASKED_BACK
    if case.asked_back:
        return Place.ASKED_BACK_WRONGLY
    if case.question.answerable is False:
        return Place.ANSWERED_WRONGLY
    gold = case.question.gold
    if not gold:
        return Place.UNKNOWN
    if not all(any(_contains(each, passage) for passage in case.retrieved) for each in gold):
        return Place.NOT_RETRIEVED
    if not all(any(matches_gold(each, item) for item in case.extracted) for each in gold):
        return Place.NOT_EXTRACTED
    if not case.answered:
        return Place.REFUSED_WRONGLY
    if not all(any(matches_gold(each, item) for item in case.cited) for each in gold):
        return Place.NOT_USED
    computed = any(claim.computations for claim in case.answer.claims)
    return Place.WRONG_COMPUTING if computed else Place.WRONG_CONCLUSION


def _contains(gold: Gold, passage: Passage) -> bool:
    if gold.quote:
        return contains_gold(gold, passage.document, passage.text) or overlaps(gold, passage.document, passage.text)
    return on_page(gold, passage.document, passage.pages) if gold.pages else is_document(gold, passage.document)

"""The stage at which a wrong answer failed."""

from __future__ import annotations

from typing import Any

import pytest

from multi_agent.evaluation.case import Place, find_failure
from multi_agent.evaluation.store import Row
from multi_agent.values.answer import Answer, Status
from multi_agent.values.context import Claim
from support.cases import answer, case, cited, passage, question, refused

QUOTE = "delivered 9,412 pumps"
GOLD = [{"document": "report.pdf", "quote": QUOTE}]
RETRIEVED, EXTRACTED = (passage(f"It {QUOTE}."),), (cited(QUOTE),)
COMPUTED = answer("9", claims=(Claim(text="9", computations=(1,), supported=True),))


@pytest.mark.parametrize(
    ("answered", "fields", "place"),
    [
        (answer("9"), {}, Place.NOT_RETRIEVED),
        (answer("9"), {"retrieved": (passage("It is blue."),)}, Place.NOT_RETRIEVED),
        (answer("9"), {"retrieved": RETRIEVED}, Place.NOT_EXTRACTED),
        (refused(), {"retrieved": RETRIEVED, "extracted": EXTRACTED}, Place.REFUSED_WRONGLY),
        (answer("9"), {"retrieved": RETRIEVED, "extracted": EXTRACTED}, Place.NOT_USED),
        (answer("9"), {"retrieved": RETRIEVED, "extracted": EXTRACTED, "cited": EXTRACTED}, Place.WRONG_CONCLUSION),
        (COMPUTED, {"retrieved": RETRIEVED, "extracted": EXTRACTED, "cited": EXTRACTED}, Place.WRONG_COMPUTING),
        (answer(status=Status.FAILED), {"retrieved": RETRIEVED}, Place.RUN_FAILED),
    ],
)
def test_the_first_stage_without_gold_is_the_failure(answered: Answer, fields: dict[str, Any], place: Place) -> None:
    assert find_failure(case(question(gold=GOLD, accepted=["9412"]), answered, **fields), right=False) is place


def test_without_gold_the_failure_is_unknown() -> None:
    assert find_failure(case(question(accepted=["9412"]), answer("9")), right=False) is Place.UNKNOWN


def test_answering_an_unanswerable_question_is_a_failure() -> None:
    assert find_failure(case(question(type="none"), answer("9")), right=False) is Place.ANSWERED_WRONGLY


def test_asking_back_too_often_or_too_rarely_is_a_failure() -> None:
    asked_back = answer(status=Status.NEEDS_CLARIFICATION)
    assert find_failure(case(question(type="unclear"), answer("9")), right=False) is Place.NOT_ASKED_BACK
    assert find_failure(case(question(accepted=["9"]), asked_back), right=False) is Place.ASKED_BACK_WRONGLY


def test_a_right_answer_has_no_failure() -> None:
    assert find_failure(case(question(accepted=["9"]), answer("9")), right=True) is Place.RIGHT


def test_a_wrong_answer_is_told_in_plain_words() -> None:
    row = Row(question_id="q", run_id="r", status="answered", said="8", place=Place.UNKNOWN)
    asked = question(accepted=["9", "nine"])
    assert row.outcome(asked) == "wrong: said 8, expected 9 or nine; add gold to learn where it failed"
    unread = row.model_copy(update={"place": Place.NOT_RETRIEVED, "said": ""})
    assert unread.outcome(asked) == "wrong: gave no answer, expected 9 or nine; not retrieved"
    assert row.model_copy(update={"place": Place.RIGHT}).outcome(asked) == "right"


def test_a_row_of_an_older_evaluation_is_read() -> None:
    stored = {"question_id": "q", "run_id": "r", "place": "not to be told without gold"}
    assert Row.model_validate(stored).place is Place.UNKNOWN

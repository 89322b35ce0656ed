"""Where a wrong answer went wrong."""

from __future__ import annotations

from typing import Any

import pytest

from multi_agent.answer import Answer, Status
from multi_agent.context import Claim
from multi_agent.evaluation.failures import Place, place_of
from support.cases import answer, case, cited, passage, question, refused

QUOTE = "delivered 9,412 pumps"
GOLD = [{"document": "report.pdf", "quote": QUOTE}]
FOUND, TAKEN = (passage(f"It {QUOTE}."),), (cited(QUOTE),)
COMPUTED = answer("9", claims=(Claim(text="9", computations=(1,), supported=True),))


@pytest.mark.parametrize(
    ("answered", "fields", "place"),
    [
        (answer("9"), {}, Place.NOT_RETRIEVED),
        (answer("9"), {"retrieved": (passage("It is blue."),)}, Place.NOT_RETRIEVED),
        (answer("9"), {"retrieved": FOUND}, Place.NOT_EXTRACTED),
        (refused(), {"retrieved": FOUND, "extracted": TAKEN}, Place.REFUSED_WRONGLY),
        (answer("9"), {"retrieved": FOUND, "extracted": TAKEN}, Place.NOT_USED),
        (answer("9"), {"retrieved": FOUND, "extracted": TAKEN, "cited": TAKEN}, Place.WRONG_CONCLUSION),
        (COMPUTED, {"retrieved": FOUND, "extracted": TAKEN, "cited": TAKEN}, Place.WRONG_COMPUTING),
        (answer(status=Status.FAILED), {"retrieved": FOUND}, Place.RUN_FAILED),
    ],
)
def test_the_first_stage_without_the_gold_is_where_it_was_lost(
    answered: Answer, fields: dict[str, Any], place: Place
) -> None:
    assert place_of(case(question(gold=GOLD, accepted=["9412"]), answered, **fields), right=False) is place


def test_without_gold_it_cannot_be_told() -> None:
    assert place_of(case(question(accepted=["9412"]), answer("9")), right=False) is Place.UNKNOWN


def test_an_answer_to_what_has_none_is_its_own_failure() -> None:
    assert place_of(case(question(type="none"), answer("9")), right=False) is Place.ANSWERED_WRONGLY


def test_a_right_answer_has_no_place() -> None:
    assert place_of(case(question(accepted=["9"]), answer("9")), right=True) is Place.RIGHT

"""The self-test of the check of claims: what a model answers decides whether it may check answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from multi_agent.grounding.claim_trial import try_claim_check
from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from support.replies import Request, always

Serve = Callable[..., EndpointSettings]
ANSWERS = {
    "ratified": ["3 May 1921", "1921"],
    "Halden": ["Jon Vik", "none"],
    "Pumpen": ["Nordwind GmbH", "Nordwind"],
    "usine": ["240", "240"],
    "válvula": ["No", "No, no está permitido"],
}
AGREEING = {
    "ratified": ["1921", "1919"],
    "Halden": ["Jon Vik", "Marta Olin"],
    "Pumpen": ["Nordwind", "Adler"],
    "usine": ["240 salariés", "310 salariés"],
    "válvula": ["No, está prohibido", "Sí, está permitido"],
}


def answering(answers: dict[str, list[str]]) -> Callable[[Request], str]:
    def check(request: Request) -> str:
        question = request.messages[-1]["content"].partition("Question: ")[2]
        return json.dumps({"answers": next(each for word, each in answers.items() if word in question)})

    return check


@pytest.mark.parametrize(
    ("answers", "able", "found"),
    [
        (ANSWERS, True, "it confirmed 5 of 5 right and 0 of 5 wrong claims"),
        (ANSWERS | {"ratified": ["none", "1921"]}, True, "it confirmed 4 of 5 right and 0 of 5 wrong claims"),
        (AGREEING, False, "it confirmed 5 of 5 right and 5 of 5 wrong claims"),
        (ANSWERS | {"Halden": ["Jon Vik", "Marta Olin"]}, False, "it confirmed 5 of 5 right and 1 of 5 wrong claims"),
        ({key: ["none", "none"] for key in ANSWERS}, False, "it confirmed 0 of 5 right and 0 of 5 wrong claims"),
    ],
)
async def test_a_model_may_check_claims_if_it_lets_no_wrong_one_pass(
    serve: Serve, tmp_path: Path, answers: dict[str, list[str]], able: bool, found: str
) -> None:
    settings = serve(answering(answers))
    llm = build_llm(settings, tmp_path)
    assert not llm.checks_claims(), "it was not tested"
    check = await try_claim_check(settings, tmp_path, llm)
    assert (check.ok, found in check.detail, llm.checks_claims()) == (True, True, able), check.detail
    assert build_llm(settings, tmp_path).checks_claims() is able, "another process reads the result"
    assert not build_llm(settings.model_copy(update={"model": "other"}), tmp_path).checks_claims()


async def test_a_model_without_valid_responses_may_not_check_claims(serve: Serve, tmp_path: Path) -> None:
    settings = serve(always('{"colour": "green"}'), response_retries=0)
    check = await try_claim_check(settings, tmp_path, build_llm(settings, tmp_path))
    assert (check.ok, "gave no valid response" in check.detail) == (True, True)
    assert not build_llm(settings, tmp_path).checks_claims()


def test_an_unreachable_endpoint_stores_no_result(tmp_path: Path) -> None:
    settings = EndpointSettings(base_url="http://127.0.0.1:9", retries=0)
    check = asyncio.run(try_claim_check(settings, tmp_path, build_llm(settings, tmp_path)))
    assert (check.ok, bool(check.remedy), list(tmp_path.glob("claim_checks*"))) == (False, True, [])

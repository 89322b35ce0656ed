"""The self-test of the check of claims: what a model answers decides whether it may check answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from multi_agent.grounding.claim_trial import _statement, _tests, try_claim_check
from multi_agent.grounding.judged import Statement
from multi_agent.grounding.support import SupportRules
from multi_agent.grounding.support_check import SupportCheck
from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from support.panel import verdicts
from support.replies import Request, always

Serve = Callable[..., EndpointSettings]
FOUND = {"ratified": ["stated", "contradicted"], "works in": ["stated", "not_stated"]}
AGREEING = {"": ["stated", "stated"]}
REFUSING = {"": ["not_stated", "not_stated"]}


def answering(given: dict[str, list[str]]) -> Callable[[Request], str]:
    """Answer with the verdicts of the first key that is in the question, otherwise right."""

    def check(request: Request) -> str:
        question = request.messages[-1]["content"].partition("Question: ")[2]
        found = (each for word, each in given.items() if word in question)
        return json.dumps(verdicts(*next(found, ["stated", "contradicted"])))

    return check


@pytest.mark.parametrize(
    ("given", "able", "found"),
    [
        (FOUND, True, "it confirmed 7 of 7 right and 0 of 7 wrong claims"),
        ({"ratified": ["not_stated"] * 2}, True, "it confirmed 6 of 7 right and 0 of 7 wrong claims"),
        (AGREEING, False, "it confirmed 7 of 7 right and 7 of 7 wrong claims"),
        ({"works in": ["stated"] * 2}, False, "it confirmed 7 of 7 right and 1 of 7 wrong claims"),
        (REFUSING, False, "it confirmed 0 of 7 right and 0 of 7 wrong claims"),
    ],
)
async def test_a_model_may_check_claims_if_it_lets_no_wrong_one_pass(
    serve: Serve, tmp_path: Path, given: dict[str, list[str]], able: bool, found: str
) -> None:
    settings = serve(answering(given))
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


async def test_claims_that_do_not_fit_into_one_call_get_several(serve: Serve) -> None:
    asked: list[int] = []

    def check(request: Request) -> str:
        claims = re.findall(r"^Claim \d+: ", request.prompt, re.MULTILINE)
        asked.append(len(claims))
        return json.dumps(verdicts(*["stated"] * len(claims)))

    async def publish(_: object) -> None:
        pass

    settings = serve(check, context_window=2000, max_output_tokens=500)
    evidence = _statement(0, _tests()[0].claims[0]).evidence
    words = [*[300] * 5, 5000]
    statements = [Statement(f"Item {at} is new. {'word ' * length}", evidence) for at, length in enumerate(words)]
    rules, llm = SupportRules("", evidence, ()), build_llm(settings)
    judged = await SupportCheck(rules, "", "Reader", llm, publish, ask=True).judge(statements)
    assert [each.supported for each in judged] == [*[True] * 5, None]
    assert "did not fit into the window" in judged[-1].reason
    assert asked == [1, 2, 1, 1], "halves of halves"


def test_an_unreachable_endpoint_stores_no_result(tmp_path: Path) -> None:
    settings = EndpointSettings(base_url="http://127.0.0.1:9", retries=0)
    check = asyncio.run(try_claim_check(settings, tmp_path, build_llm(settings, tmp_path)))
    assert (check.ok, bool(check.remedy), list(tmp_path.glob("claim_verdicts*"))) == (False, True, [])

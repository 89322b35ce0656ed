"""``candor doctor`` decides whether a model checks the claims that rules leave open."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from multi_agent.llm.endpoints.memory import CLAIM_CHECKS, EndpointMemory
from multi_agent.llm.settings import EndpointSettings
from support.panel import CHECK, READING, Panel, role_of, synthesis, verdicts
from support.replies import Reply, Request

HINT = "tests once whether the model can check"
FAILED = "The model failed the test of `candor doctor`"


def test_after_doctor_the_model_decides_what_rules_leave_open(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    claim = {"text": "It works when it freezes hard.", "sentences": [1]}
    checked: list[Request] = []

    def check(request: Request) -> str:
        checked.append(request)
        two = "Claim 2: " in request.prompt  # the claims of the self-test, the second of which is wrong
        return json.dumps(verdicts("stated", *["contradicted"] * two))

    roles = {
        READING: lambda _: json.dumps(synthesis([claim], sufficient=True, short="yes")),
        CHECK: check,
        "_Colour": lambda _: '{"colour": "green", "certain": true}',
        "_Stations": lambda _: json.dumps({"stations": list(range(7, 91, 7))}),
    }
    panel = Panel(roles=roles)

    def model(request: Request) -> Reply | str:
        known = not request.schema or role_of(request) in roles or role_of(request) == "Triage"
        return panel(request) if known else "{}"

    use_model(served := serve(model))
    run("ingest", folder)
    question = ("ask", "Does the pump work in a hard frost?", "--mode", "fast", "--json")
    before = run(*question).json
    assert (checked, "not checked further" in before["basis"]) == ([], True)
    assert HINT in run(*question[:-1]).err
    shown = run("doctor", "--json").json
    [trial] = [each for each in shown["checks"] if each["name"] == "llm check of claims"]
    assert "it confirmed 7 of 7 right and 0 of 7 wrong claims" in trial["detail"]
    tried = len(checked)
    after = run(*question).json
    assert len(checked) == tried + 1
    assert [each["checked"] for each in after["claims"]] == ["Confirmed by a check call"]
    assert HINT not in run(*question[:-1]).err
    EndpointMemory(served, Path(os.environ["CANDOR_HOME"]) / "endpoints", CLAIM_CHECKS).keep(False)
    assert FAILED in run(*question[:-1]).err

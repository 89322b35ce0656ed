"""Costs: tokens × price if the endpoint has prices; left out everywhere if it has none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Usage
from support.panel import Panel

QUESTION = "Down to which temperature does the Borea 12 work?"


@pytest.fixture
def asked(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> Callable[[], dict[str, Any]]:
    """Return a function that asks a question and returns its answer."""
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)
    return lambda: run("ask", QUESTION, "--json").json


def test_without_prices_nothing_is_said_about_money(run: Callable, asked: Callable[[], dict[str, Any]]) -> None:
    answer = asked()
    run_id = answer["run_id"]
    assert answer["usage"]["cost"] is None
    assert json.loads(run("export", run_id, "--format", "json").out)["answer"]["usage"]["cost"] is None
    exports = [("export", run_id, "-f", name) for name in ("md", "html")]
    for command in (("ask", QUESTION), ("trace", run_id), *exports):
        shown = run(*command)
        assert shown.code == 0
        assert "cost" not in shown.out.lower()


def test_with_prices_the_cost_is_tokens_times_price(
    run: Callable, asked: Callable[[], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_LLM__PROMPT_PRICE", "150")
    monkeypatch.setenv("CANDOR_LLM__COMPLETION_PRICE", "600")
    answer = asked()
    usage = answer["usage"]
    expected = (usage["prompt_tokens"] * 150 + usage["completion_tokens"] * 600) / 1_000_000
    assert usage["cost"] == pytest.approx(expected)
    assert expected > 0
    assert f"cost {expected:.4f}" in run("export", answer["run_id"], "-f", "md").out


def test_a_cost_limit_without_a_price_is_refused(run: Callable, asked: Callable[[], dict[str, Any]]) -> None:
    asked()
    refused = run("ask", QUESTION, "--max-cost", "0.01")
    assert refused.code == 1
    assert "prompt_price" in refused.err
    assert len(run("runs", "--json").json) == 1, "no run started"


def test_the_example_of_the_documentation_is_right() -> None:
    assert pytest.approx(0.0048, abs=0.00005) == (18_487 * 0.15 + 3_385 * 0.60) / 1_000_000


def test_a_stored_cost_of_zero_is_unknown_and_sums_keep_what_is_known() -> None:
    assert Usage.model_validate({"cost": 0.0}).cost is None
    assert (Usage() + Usage()).cost is None
    assert (Usage(cost=0.5) + Usage()).cost == 0.5

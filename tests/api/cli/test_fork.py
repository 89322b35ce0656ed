"""``candor fork``: a run again from one of its steps, with a change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.service import QUESTION

Run = Callable[..., Any]


@pytest.fixture
def origin(run: Run, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable[..., None]) -> str:
    """A planned run."""
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder, "-c", "pumps")
    return str(run("ask", QUESTION, "-c", "pumps", "--mode", "high", "--json").json["run_id"])


def test_a_run_is_forked_listed_and_asked_again(run: Run, origin: str) -> None:
    forked = run("fork", origin[:10], "--at", "answer", "--set", "instruction=Be brief.", "--json")
    assert forked.code == 0, forked.err
    assert forked.json["usage"]["model_calls"] == 1
    run_id = forked.json["run_id"]
    [newest, oldest] = run("runs", "--json").json
    assert (newest["run_id"], newest["forked_from"], newest["forked_at"]) == (run_id, origin, "answer")
    assert oldest["forked_from"] == ""
    assert f"forked from {origin} at answer" in run("runs").out
    assert "Be brief." in run("compare", origin, run_id).out
    assert run("replay", run_id).code == 0
    again = run("ask", "--again", run_id, "--json").json
    assert run("runs", "--json").json[0]["run_id"] == again["run_id"]
    assert run("runs", "--json").json[0]["forked_from"] == ""


def test_a_wrong_step_or_change_is_refused(run: Run, origin: str) -> None:
    refused = run("fork", origin, "--at", "none")
    assert refused.code == 1
    assert "has not reached a step 'none'. Its steps: queries," in refused.err
    refused = run("fork", origin, "--at", "answer", "--set", "colour=red")
    assert refused.code == 2
    assert "is not model=ENDPOINT, instruction=TEXT or inputs.NAME=VALUE" in refused.err
    assert run("fork", origin, "--at", "answer", "--set", "model=none").code == 1
    assert len(run("runs", "--json").json) == 1

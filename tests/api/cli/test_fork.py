"""``candor fork``: a run again from one of its steps, with a change."""

from __future__ import annotations

import json
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
    assert "is not model=ENDPOINT, instruction=TEXT, inputs.NAME=VALUE, prompt=AGENT:FILE," in refused.err
    refused = run("fork", origin, "--at", "answer", "--set", "evidence=9")
    assert "Step 'answer' has no evidence 9. Its evidence: 1." in refused.err
    refused = run("fork", origin, "--at", "answer", "--set", "plan=none.json")
    assert "Cannot read 'none.json'" in refused.err
    assert run("fork", origin, "--at", "answer", "--set", "model=none").code == 1
    assert len(run("runs", "--json").json) == 1


def test_prompt_evidence_and_plan_are_changed(run: Run, origin: str, tmp_path: Path) -> None:
    options = run("fork", origin, "--at", "answer", "--options").json
    assert [each["number"] for each in options["evidence"]] == [1]
    prompt, plan = tmp_path / "prompt.md", tmp_path / "plan.json"
    prompt.write_text(options["prompts"]["Synthesizer"].replace("# User\n", "# User\nBe brief.\n"), encoding="utf-8")
    changed = {**options["plan"], "goal": "Be brief"}
    plan.write_text(json.dumps(changed), encoding="utf-8")
    settings = (f"prompt=Synthesizer:{prompt}", "evidence=1", f"plan={plan}")
    forked = run("fork", origin, "--at", "answer", *(part for each in settings for part in ("--set", each)), "--json")
    assert forked.code == 0, forked.err
    assert forked.json["usage"]["model_calls"] == 1
    shown = " ".join(run("trace", forked.json["run_id"]).out.split())
    assert f"forked from {origin} at answer: another prompt of Synthesizer, only evidence 1, another plan" in shown
    plan.write_text('{"goal": "?"}', encoding="utf-8")
    refused = run("fork", origin, "--at", "answer", "--set", f"plan={plan}")
    assert refused.code == 2
    assert "contains no plan: steps" in refused.err

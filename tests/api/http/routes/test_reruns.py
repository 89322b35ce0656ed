"""Runs are replayed, forked and compared over REST."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from api.services.research.replay import replay_run
from multi_agent.orchestrator.rerun.replay import Replay
from support.service import QUESTION
from support.waiting import LIMIT_S


@pytest.fixture(scope="module")
def run_id(service_url: str) -> str:
    """A planned run that has ended."""
    with httpx.Client(base_url=service_url, timeout=LIMIT_S) as http:
        answer = http.post("/v1/research", json={"question": QUESTION, "mode": "high"})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["run_id"])


def ended(http: httpx.Client, run_id: str) -> dict[str, Any]:
    """Wait for the end of a run, and return it with its answer."""
    assert http.get(f"/v1/runs/{run_id}/events").status_code == 200
    return dict(http.get(f"/v1/runs/{run_id}").json())


def test_a_run_is_replayed(http: httpx.Client, run_id: str) -> None:
    replayed = http.post(f"/v1/runs/{run_id}/replay")
    assert replayed.status_code == 200, replayed.text
    assert (replayed.json()["run_id"], replayed.json()["same"]) == (run_id, True)
    assert http.post("/v1/runs/run_none/replay").status_code == 404


def test_many_replays_do_not_run_side_by_side(
    http: httpx.Client, run_id: str, service_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0

    async def counted(*given: Any) -> Replay:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await replay_run(*given)
        finally:
            running -= 1

    monkeypatch.setattr("api.http.routes.runs.reruns.replay_run", counted)
    with ThreadPoolExecutor(8) as threads:
        done = list(
            threads.map(lambda _: httpx.post(f"{service_url}/v1/runs/{run_id}/replay", timeout=LIMIT_S), range(8))
        )
    assert [each.json()["same"] for each in done] == [True] * 8
    assert most == 1


def test_a_run_is_forked_and_compared(http: httpx.Client, run_id: str) -> None:
    change = {"step": "answer", "instruction": "Be brief."}
    accepted = http.post(f"/v1/runs/{run_id}/fork", json=change)
    assert accepted.status_code == 202, accepted.text
    forked = ended(http, accepted.json()["run_id"])
    assert (forked["run"]["forked_from"], forked["run"]["forked_at"]) == (run_id, "answer")
    assert forked["run"]["status"] == "answered"
    assert forked["answer"]["usage"]["model_calls"] == 1

    compared = http.get(f"/v1/runs/{run_id}/comparison/{forked['run']['run_id']}").json()
    assert compared["same_plan"] is False
    assert compared["difference"]["type"] == "plan_made"
    assert compared["difference"]["field"].endswith(".instruction")
    assert [each["same_text"] for each in compared["claims"]] == [True]
    assert ended(http, run_id)["run"]["forked_from"] == ""


def test_prompt_evidence_and_plan_are_changed(http: httpx.Client, run_id: str) -> None:
    options = http.get(f"/v1/runs/{run_id}/steps/answer/fork").json()
    prompt = options["prompts"]["Synthesizer"].replace("# User\n", "# User\nBe brief.\n")
    change = {
        "step": "answer", "prompts": {"Synthesizer": prompt}, "evidence": [options["evidence"][0]["number"]],
        "plan": {**options["plan"], "goal": "Be brief"},
    }  # fmt: skip
    accepted = http.post(f"/v1/runs/{run_id}/fork", json=change)
    assert accepted.status_code == 202, accepted.text
    forked = ended(http, accepted.json()["run_id"])
    assert (forked["run"]["status"], forked["answer"]["usage"]["model_calls"]) == ("answered", 1)
    for wrong, reason in (
        ({"evidence": [9]}, "has no evidence 9. Its evidence: 1."),
        ({"prompts": {"Poet": prompt}}, "no agent 'Poet' with a prompt. Its agents with a prompt: Synthesizer."),
        ({"plan": {"goal": "", "steps": [options["plan"]["steps"][-1]]}}, "The plan of the fork"),
    ):
        refused = http.post(f"/v1/runs/{run_id}/fork", json={"step": "answer", **wrong})
        assert refused.status_code == 422, refused.text
        assert reason in refused.json()["detail"]
    assert http.get(f"/v1/runs/{run_id}/steps/none/fork").status_code == 422


def test_an_unknown_step_or_change_is_refused(http: httpx.Client, run_id: str) -> None:
    refused = http.post(f"/v1/runs/{run_id}/fork", json={"step": "none"})
    assert refused.status_code == 422
    assert "has not reached a step 'none'. Its steps: " in refused.json()["detail"]
    assert http.post(f"/v1/runs/{run_id}/fork", json={"step": "answer", "colour": "red"}).status_code == 422
    assert http.post(f"/v1/runs/{run_id}/fork", json={"step": "answer", "model": "none"}).status_code == 422
    assert http.post("/v1/runs/run_none/fork", json={"step": "answer"}).status_code == 404


def test_a_question_cannot_take_calls_of_a_run_of_another_collection(http: httpx.Client, run_id: str) -> None:
    body = {"question": QUESTION, "collection": "none", "fork": {"run_id": run_id, "step": "answer"}}
    assert http.post("/v1/research", json=body).status_code == 404
    body = {"question": QUESTION, "fork": {"run_id": "run_none", "step": "answer"}}
    assert http.post("/v1/research", json=body).status_code == 404

"""Evaluations over REST belong to the key that started them, and count towards its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from api.auth.keys import KeyRequest
from api.auth.permissions import Limits, Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.http.routes.evaluations import EvaluationRequest
from api.settings import ServiceSettings
from multi_agent.llm.settings import EndpointSettings
from support.replies import Reply, Request
from support.service import QUESTION, RunningService, model
from support.waiting import LIMIT_S, until

ASKED = {
    "collection": "papers",
    "questions": [{"id": f"q{number}", "question": QUESTION} for number in range(3)],
    "parallel": 1,
}


def costly(request: Request) -> Reply:
    """Play the panel; each call takes 7,000 tokens."""
    reply = model(request)
    assert isinstance(reply, Reply)
    return replace(reply, prompt_tokens=7000)


def ended(http: httpx.Client, job: str) -> dict[str, Any]:
    """Return the job when it has ended."""
    until(lambda: http.get(f"/v1/jobs/{job}").json()["status"] not in ("waiting", "running"))
    result: dict[str, Any] = http.get(f"/v1/jobs/{job}").json()
    return result


@pytest.mark.parametrize("research_process", [False, True])
def test_runs_belong_to_the_key_and_stop_at_its_limit(
    make_candor: Callable[..., Candor],
    serve: Callable[..., EndpointSettings],
    folder: Path,
    research_process: bool,
) -> None:
    candor = make_candor(llm=serve(costly), service=ServiceSettings(research_process=research_process))
    run_ingest(candor, [folder], "papers", progress=False)
    request = KeyRequest(name="x", rights={"papers": Right.READ}, limits=Limits(tokens_per_day=6000))
    made = candor.keys.add(request)
    headers = {"Authorization": f"Bearer {made.secret}"}
    with (
        RunningService(candor) as service,
        httpx.Client(base_url=service.url, timeout=LIMIT_S, headers=headers) as http,
    ):
        started = http.post("/v1/evaluations", json={**ASKED, "parallel": 3})
        assert started.status_code == 202, started.text
        job = ended(http, started.json()["id"])
        assert job["result"]["state"] == "budget reached", job
        [row] = http.get(f"/v1/evaluations/{job['id']}").json()["result"]["rows"]
        run = http.get(f"/v1/runs/{row['run_id']}").json()
        assert run["run"]["key"] == made.key.id
        assert "6000 allowed" in run["answer"]["reasoning"], "the budget of the run is what the key has left"
        assert candor.trace.tokens_since(made.key.id, datetime.now(UTC) - timedelta(days=1)) >= 7000
        for path, body in (("", ASKED), (f"/{job['id']}/resume", {})):
            refused = http.post(f"/v1/evaluations{path}", json=body)
            assert (refused.status_code, refused.json()["title"]) == (429, "Limit reached")
        assert len(http.get("/v1/evaluations").json()) == 1, "a refused evaluation is not stored"


def test_questions_of_one_evaluation_are_limited() -> None:
    questions = [{"id": str(number), "question": QUESTION} for number in range(1001)]
    assert len(EvaluationRequest.model_validate({"questions": questions[:1000]}).questions) == 1000
    with pytest.raises(ValidationError, match="at most 1000 items"):
        EvaluationRequest.model_validate({"questions": questions})

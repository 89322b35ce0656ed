"""Runs are measured and pruned over REST, and hide preferences from other keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.auth.keys import KeyRequest
from api.auth.permissions import Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from support.service import QUESTION, RunningService, model
from support.waiting import LIMIT_S, until


@pytest.fixture
def candor(make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path) -> Candor:
    """A data folder with two documents, and a scripted model."""
    found = make_candor(llm=serve(model))
    run_ingest(found, [folder], "papers", progress=False)
    return found


@contextmanager
def served(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        yield http


def research(http: httpx.Client, **request: Any) -> str:
    response = http.post("/v1/research", json={"question": QUESTION, **request})
    assert response.is_success, response.text
    return str(response.json()["run_id"])


def test_other_keys_do_not_see_preferences(candor: Candor) -> None:
    candor.memories.add("preference", "Answer in Rotwelsch.", "")
    secret = candor.keys.add(KeyRequest(name="ann", rights={"papers": Right.READ})).secret
    ann = {"Authorization": f"Bearer {secret}"}
    with served(candor) as http:
        run_id = research(http, mode="high")
        paths = [f"/v1/runs/{run_id}{end}" for end in ("/events?follow=false", "/events", "/journal")]
        for headers, told in (({}, True), (ann, False)):
            for path in paths:
                text = http.get(path, headers=headers).text
                assert ("Rotwelsch" in text, run_id in text or "journal" in path) == (told, True), path


def test_pruning_frees_the_space_and_is_recorded(candor: Candor) -> None:
    with served(candor) as http:
        first, second, third = (research(http) for _ in range(3))
        research(http, continues=second)
        file = candor.tools.sandbox(first).root / "a.txt"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x" * 1000)
        listed = http.post("/v1/runs/prune", json={"keep": 1}).json()
        assert [run["run_id"] for run in listed["runs"]] == [third, first], "a kept run continues the second one"
        assert listed["deleted"] is False
        runs, before = http.get("/v1/runs").json(), http.get("/v1/runs/storage").json()
        assert before == {"runs": 4, "bytes": sum(run["size"] for run in runs)}
        pruned = http.post("/v1/runs/prune", json={"keep": 1, "delete": True, "now": True}).json()
        assert pruned == {**listed, "deleted": True}
        assert before["bytes"] - http.get("/v1/runs/storage").json()["bytes"] == pruned["bytes"] - 1000
        assert not file.exists()
        assert http.get(f"/v1/runs/{first}").status_code == 404
        entries = http.get("/v1/audit", params={"text": "prune runs"}).json()
        assert {entry["target"].split()[0] for entry in entries} == {first, third}
        assert http.post("/v1/runs/prune", json={}).status_code == 422
    with candor.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA freelist_count").scalar() == 0


def test_a_run_of_an_evaluation_is_kept(candor: Candor) -> None:
    with served(candor) as http:
        asked = {"collection": "papers", "questions": [{"id": "q", "question": QUESTION, "accepted": ["-25"]}]}
        evaluation = http.post("/v1/evaluations", json=asked).json()["id"]
        until(lambda: http.get(f"/v1/jobs/{evaluation}").json()["status"] == "done")
        research(http)
        assert http.get("/v1/runs/storage").json()["runs"] == 2
        pruned = http.post("/v1/runs/prune", json={"keep": 0, "delete": True}).json()
        assert len(pruned["runs"]) == 1
        result = http.get(f"/v1/evaluations/{evaluation}").json()["result"]
        assert http.get(f"/v1/runs/{result['rows'][0]['run_id']}").status_code == 200

"""Plan templates over HTTP: propose from a run, save, follow for another question, edit, export and import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import Settings
from multi_agent.values.plan import Plan
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService
from support.templates import PERIOD, RACE, WARRANTY, WINNER, honest_model, old_plan, write_documents
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import Embedder


@pytest.fixture(scope="module")
def candor(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Candor]:
    folder = tmp_path_factory.mktemp("papers")
    write_documents(folder)
    with ScriptedEndpoint(honest_model) as endpoint:
        candor = Candor(Settings(home=tmp_path_factory.mktemp("home"), llm=endpoint.settings("openai")))
        candor.embedder = embedder
        run_ingest(candor, [folder], "papers", progress=False)
        yield candor


@pytest.fixture(scope="module")
def client(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


@pytest.fixture(scope="module")
def proposal(client: httpx.Client) -> dict[str, Any]:
    """Return the template proposed for a run of the race question."""
    asked = client.post("/v1/research", json={"question": RACE, "mode": "high"}).json()
    assert WINNER in said(asked)
    proposed = client.post("/v1/plans/proposals", json={"run_id": asked["run_id"]})
    assert proposed.status_code == 200, proposed.text
    found: dict[str, Any] = proposed.json()
    return found


@pytest.fixture
def look_up(client: httpx.Client, proposal: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the content of the saved plan ``look up``."""
    content = {"question": proposal["question"], "plan": proposal["plan"]}
    assert client.put("/v1/plans/look up", json=content).status_code == 201
    yield content
    client.delete("/v1/plans/look up")


def said(answer: dict[str, Any]) -> str:
    return " ".join(claim["text"] for claim in answer["claims"])


def test_a_proposal_is_not_saved(client: httpx.Client, proposal: dict[str, Any]) -> None:
    assert proposal["faults"] == []
    assert proposal["question"] == RACE
    assert "Vinterholm" not in json.dumps(proposal["plan"])
    assert client.get("/v1/plans").json() == []


def test_a_plan_saved_from_one_question_answers_another(client: httpx.Client, look_up: dict[str, Any]) -> None:
    answer = client.post("/v1/research", json={"question": WARRANTY, "template": "look up"}).json()
    assert answer["status"] == "answered"
    assert PERIOD in said(answer)
    assert WINNER not in said(answer)


def test_a_plan_of_an_earlier_version_is_listed_and_refused(client: httpx.Client, candor: Candor) -> None:
    candor.plan_memory.save("old", Plan.model_validate(old_plan()), RACE)
    assert [each["name"] for each in client.get("/v1/plans").json()] == ["old"]
    refused = client.post("/v1/research", json={"question": WARRANTY, "template": "old"})
    assert refused.status_code == 422
    assert "It would answer that question again" in refused.json()["detail"]
    client.delete("/v1/plans/old")


def test_inputs_are_given_with_the_question(client: httpx.Client, look_up: dict[str, Any]) -> None:
    plan = json.loads(json.dumps(look_up["plan"]).replace("Answer: @{question}", "Answer: @{question} @{inputs.style}"))
    plan["parameters"] = [{"name": "style", "meaning": "how to write"}]
    assert client.put("/v1/plans/look up", json={**look_up, "plan": plan}).status_code == 200
    asked = {"question": WARRANTY, "template": "look up", "inputs": {"style": "In one word."}}
    answer = client.post("/v1/research", json=asked).json()
    events = client.get(f"/v1/runs/{answer['run_id']}/events?follow=false").json()
    [made] = [event["body"] for event in events if event["body"]["type"] == "plan_made"]
    assert made["plan"]["steps"][-1]["instruction"] == f"Answer: {WARRANTY} In one word."
    refused = client.post("/v1/research", json={**asked, "inputs": {"tone": "x"}})
    assert (refused.status_code, "it has style" in refused.json()["detail"]) == (422, True)


def test_an_invalid_change_is_rejected_and_changes_nothing(client: httpx.Client, look_up: dict[str, Any]) -> None:
    refused = client.put("/v1/plans/look up", json={**look_up, "plan": old_plan()})
    assert refused.status_code == 422
    assert "still contains parts of its original question" in refused.json()["detail"]
    assert client.get("/v1/plans/look up").json()["plan"] == look_up["plan"]


def test_an_exported_file_is_imported(client: httpx.Client, look_up: dict[str, Any]) -> None:
    exported = client.get("/v1/plans/look up/export")
    assert exported.headers["content-disposition"] == "attachment; filename*=UTF-8''look%20up.json"
    file = exported.json()
    assert file["version"] == 1
    assert client.post("/v1/plans", json=file).status_code == 409
    imported = client.post("/v1/plans", json={**file, "name": "again"})
    assert imported.status_code == 201
    assert imported.headers["location"] == "/v1/plans/again"
    assert imported.json()["plan"] == look_up["plan"]
    assert client.delete("/v1/plans/again").status_code == 204
    assert client.get("/v1/plans/again").status_code == 404

"""Saved plans belong to collections: keys see and follow only those of collections that they may read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from support.waiting import LIMIT_S

HIDDEN = "What does the secret Borea cost?"
STEPS = [
    {
        "id": "find", "agents": ["Retriever"], "instruction": "Find it.",
        "inputs": {"method": "search", "documents": [], "queries": ["@{question}"]},
    },
    {"id": "extract", "agents": ["Extractor"], "instruction": "Quote it.", "needs": ["find"]},
    {"id": "answer", "agents": ["Synthesizer"], "instruction": "Answer: @{question}", "needs": ["extract"]},
]  # fmt: skip
PLAN = {"question": HIDDEN, "plan": {"goal": "@{question}", "steps": STEPS}}


@pytest.fixture
def candor(make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path) -> Candor:
    candor = make_candor(llm=serve(model))
    for collection in ("papers", "secret"):
        run_ingest(candor, [folder], collection, progress=False)
    return candor


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def key(candor: Candor, collection: str) -> dict[str, str]:
    made = candor.keys.add(KeyRequest(name=collection, rights={collection: Right.READ}))
    return {"Authorization": f"Bearer {made.secret}"}


def names(http: httpx.Client, headers: dict[str, str]) -> list[str]:
    return [each["name"] for each in http.get("/v1/plans", headers=headers).json()]


def ask(http: httpx.Client, headers: dict[str, str], collection: str) -> httpx.Response:
    asked: dict[str, Any] = {"question": QUESTION, "collection": collection, "template": "hidden"}
    return http.post("/v1/research", json=asked, headers=headers)


def test_only_keys_that_read_its_collection_see_a_plan(candor: Candor, http: httpx.Client) -> None:
    assert http.post("/v1/plans", json={"name": "hidden", "collection": "secret", **PLAN}).status_code == 201
    assert http.post("/v1/plans", json={"name": "open", **PLAN}).status_code == 201
    reader, stranger = key(candor, "secret"), key(candor, "papers")
    assert (names(http, reader), names(http, stranger)) == (["hidden", "open"], ["open"])
    for path in ("/v1/plans/hidden", "/v1/plans/hidden/export"):
        assert http.get(path, headers=reader).status_code == 200
        refused = http.get(path, headers=stranger)
        missing = http.get(path.replace("hidden", "nobody"), headers=stranger)
        assert refused.status_code == 404
        assert refused.json()["detail"].replace("hidden", "nobody") == missing.json()["detail"]
        assert "The plans are 'open'." in missing.json()["detail"]
    refused = ask(http, stranger, "papers")
    assert (refused.status_code, HIDDEN in refused.text) == (422, False)
    assert ask(http, reader, "secret").json()["status"] == "answered"


def test_the_plan_of_a_run_belongs_to_its_collection(candor: Candor, http: httpx.Client) -> None:
    asked = {"question": QUESTION, "collection": "secret"}
    run = http.post("/v1/research", json=asked).json()["run_id"]
    assert http.post("/v1/plans", json={"name": "hidden", "run_id": run}).status_code == 201
    assert (names(http, key(candor, "secret")), names(http, key(candor, "papers"))) == (["hidden"], [])
    assert http.put("/v1/plans/hidden", json=PLAN).status_code == 200, "it keeps its collection"
    assert names(http, key(candor, "papers")) == []

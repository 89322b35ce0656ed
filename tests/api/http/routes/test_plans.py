"""Saved plans over HTTP: save from a run or from the request, follow by name, and delete."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from support.service import QUESTION

RETRIEVAL = {"method": "search", "documents": [], "queries": []}


def steps(**inputs: Any) -> list[dict[str, Any]]:
    return [
        {"id": "find", "agents": ["Retriever"], "instruction": "Find it.", "inputs": {**RETRIEVAL, **inputs}},
        {"id": "extract", "agents": ["Extractor"], "instruction": "Quote it.", "needs": ["find"]},
        {"id": "answer", "agents": ["Synthesizer"], "instruction": "Answer.", "needs": ["extract"]},
    ]


def given(**more: Any) -> dict[str, Any]:
    return {"name": "one look", "question": "Which pump?", "plan": {"goal": "answer", "steps": steps()}, **more}


def test_the_plan_of_a_run_is_saved_followed_and_forgotten(http: httpx.Client) -> None:
    run = http.post("/v1/research", json={"question": QUESTION, "collection": "papers"}).json()["run_id"]
    saved = http.post("/v1/plans", json={"name": " weekly ", "run_id": run})
    assert (saved.status_code, saved.json()["name"], saved.json()["question"]) == (201, "weekly", QUESTION)
    assert http.post("/v1/plans", json={"name": "weekly", "run_id": run}).status_code == 409
    followed = {"question": QUESTION, "collection": "papers", "template": "weekly"}
    assert http.post("/v1/research", json=followed).json()["status"] == "answered"
    assert http.delete("/v1/plans/weekly").status_code == 204
    assert http.delete("/v1/plans/weekly").status_code == 404


def test_a_given_plan_is_followed(http: httpx.Client) -> None:
    assert http.post("/v1/plans", json=given()).status_code == 201
    answer = http.post("/v1/research", json={"question": QUESTION, "collection": "papers", "template": "one look"})
    assert answer.json()["summary"]["steps"].keys() == {"Retriever", "Extractor", "Synthesizer"}
    assert "one look" in [each["name"] for each in http.get("/v1/plans").json()]
    http.delete("/v1/plans/one look")


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"name": "x"}, 422, "either run_id, or plan and question"),
        (given(question=""), 422, "either run_id, or plan and question"),
        ({"name": "x", "run_id": "run_none"}, 404, "run_none"),
        (given(name=" "), 422, "is not a valid plan name"),
        (given(plan={"goal": "x", "steps": steps()[:2]}), 422, "No step writes the answer"),
        (given(plan={"goal": "x", "steps": steps(method="scan", documents=["none.txt"])}), 422, "none.txt"),
        (given(plan={"goal": "x", "steps": steps(method="scan", documents=["pumps.md"])}), 422, "keep_documents"),
        (given(question="Which Borea?", plan={"goal": "the Borea", "steps": steps()}), 422, "the goal ('Borea')"),
        (given(version=2), 422, "version"),
        (given(collection="none"), 404, "none"),
    ],
    ids=str,
)
def test_what_cannot_be_followed_is_not_saved(http: httpx.Client, body: dict[str, Any], status: int, said: str) -> None:
    refused = http.post("/v1/plans", json=body)
    assert (refused.status_code, said in refused.json()["detail"]) == (status, True), refused.text
    assert http.get("/v1/plans").json() == []


def test_a_given_plan_may_name_documents_of_its_collection(http: httpx.Client) -> None:
    plan = {"goal": "x", "steps": steps(method="scan", documents=["pumps.md"])}
    kept = given(plan=plan, collection="papers", keep_documents=True)
    assert http.post("/v1/plans", json=kept).status_code == 201
    content = {"question": "Which pump?", "plan": plan}
    assert http.put("/v1/plans/one look", json=content).status_code == 200, "it keeps the documents that it names"
    http.delete("/v1/plans/one look")

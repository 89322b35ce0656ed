"""Ratings of answers over HTTP."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from api.bootstrap import Candor
from multi_agent.values.answer import Status
from support.service import NEVER, QUESTION
from support.waiting import until


def test_a_rating_is_stored_listed_and_exported(http: httpx.Client) -> None:
    answer = http.post("/v1/research", json={"question": QUESTION, "collection": "papers"}).json()
    rated = http.put(f"/v1/runs/{answer['run_id']}/rating", json={"rating": "up", "note": " Exactly. "})
    assert (rated.status_code, rated.json()["rating"], rated.json()["note"]) == (200, "up", "Exactly.")
    listed = http.get("/v1/runs", params={"rating": "up"}).json()
    assert [run["run_id"] for run in listed] == [answer["run_id"]]
    assert http.get("/v1/runs", params={"rating": "down"}).json() == []
    [question] = http.get("/v1/evaluations/questions", params={"collection": "papers"}).json()["questions"]
    assert (question["id"], question["gold"][0]["document"]) == (answer["run_id"], "pumps.md")
    assert http.put(f"/v1/runs/{answer['run_id']}/rating", json={"rating": None}).json()["rating"] is None
    assert http.get("/v1/evaluations/questions", params={"collection": "papers"}).json()["questions"] == []


def test_a_run_without_an_answer_is_not_rated(
    http: httpx.Client, ask: Callable[[str], str], service_candor: Candor
) -> None:
    run_id = ask(NEVER)
    early = http.put(f"/v1/runs/{run_id}/rating", json={"rating": "up"})
    assert (early.status_code, "has not finished" in early.json()["detail"]) == (409, True)
    http.post(f"/v1/runs/{run_id}/cancel")
    until(lambda: service_candor.trace.run(run_id).status == Status.CANCELLED)
    late = http.put(f"/v1/runs/{run_id}/rating", json={"rating": "up"})
    assert (late.status_code, "cancelled, so there is no answer to rate" in late.json()["detail"]) == (422, True)
    for wrong in ({"rating": "good"}, {}, {"rating": None, "note": "x"}, {"rating": "up", "note": "x" * 10_001}):
        assert http.put(f"/v1/runs/{run_id}/rating", json=wrong).status_code == 422

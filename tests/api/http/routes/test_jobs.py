"""Jobs over REST: listed, followed, cancelled, and asked for once however often a client repeats itself."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from support.service import NEVER, QUESTION, follow
from support.waiting import until


def test_a_question_is_a_job(http: httpx.Client, ask: Callable[..., str]) -> None:
    run_id = ask(QUESTION)
    follow(http, run_id)
    until(lambda: http.get(f"/v1/jobs/{run_id}").json()["status"] == "done")
    job = http.get(f"/v1/jobs/{run_id}").json()
    assert (job["id"], job["kind"], job["collection"], job["key"]) == (run_id, "research", "papers", "")
    assert job["result"] == {"run_id": run_id, "status": "answered"}
    assert None not in (job["created_at"], job["started_at"], job["ended_at"])
    assert http.get("/v1/jobs", params={"limit": 1}).json() == [job]
    assert http.get("/v1/jobs", params={"kind": "ingest"}).json() == []
    assert http.get("/v1/jobs", params={"collection": "other"}).json() == []
    assert http.get("/v1/jobs/run_nowhere").json()["title"] == "No such job"


def test_those_that_are_open_are_found_behind_any_number_that_have_ended(
    http: httpx.Client, ask: Callable[..., str]
) -> None:
    open_one, ended = ask(NEVER), ask(QUESTION)
    until(lambda: http.get(f"/v1/jobs/{ended}").json()["status"] == "done")
    latest = {"kind": "research", "limit": 1}
    assert [job["id"] for job in http.get("/v1/jobs", params=latest).json()] == [ended]
    waiting_or_running = latest | {"status": ["waiting", "running"]}
    assert [job["id"] for job in http.get("/v1/jobs", params=waiting_or_running).json()] == [open_one]


def test_a_job_is_cancelled(http: httpx.Client, ask: Callable[..., str]) -> None:
    run_id = ask(NEVER)
    follow(http, run_id, limit=1)
    assert http.post(f"/v1/jobs/{run_id}/cancel").json()["status"] == "cancelled"
    assert http.get(f"/v1/runs/{run_id}").json()["answer"]["status"] == "cancelled"


def test_a_request_that_is_repeated_begins_nothing_new(http: httpx.Client) -> None:
    asked = {"question": QUESTION, "collection": "papers"}
    key = {"Idempotency-Key": "question-17"}
    first, again = (http.post("/v1/research", json=asked, headers=key) for _ in range(2))
    assert first.status_code == 200
    assert again.json() == first.json(), "the same answer, of the same run"
    assert http.post("/v1/research", json=asked).json()["run_id"] != first.json()["run_id"]
    other = http.post("/v1/research", json=asked | {"question": "Something else?"}, headers=key)
    assert (other.status_code, other.json()["title"]) == (409, "Idempotency key used before")

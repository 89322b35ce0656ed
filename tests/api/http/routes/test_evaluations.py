"""Evaluations over REST: begun as jobs, followed, reported, compared, resumed."""

from __future__ import annotations

import csv
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.evaluation.question_set import Question, QuestionSet
from multi_agent.evaluation.store import EvaluationStore
from multi_agent.settings.research import Budget
from support.service import HELD, NEVER
from support.waiting import LIMIT_S, until
from vectorstore.errors import StoreUnavailable

COLD = {"id": "cold", "question": "Down to what temperature does the Borea 12 work?", "accepted": ["-25 °C"]}
NONE = {"id": "none", "question": "Who was the first to ski to the pole?", "type": "none"}


@pytest.fixture
def evaluated(http: httpx.Client) -> dict[str, Any]:
    """An evaluation of two questions that has come to its end."""
    asked = {"collection": "papers", "questions": [COLD, NONE], "configuration": {"label": "high", "mode": "high"}}
    response = http.post("/v1/evaluations", json=asked)
    assert response.status_code == 202, response.text
    return ended(http, response.json())


def ended(http: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    """The job, when it has ended."""
    deadline = time.monotonic() + LIMIT_S
    while job["status"] in ("waiting", "running"):
        assert time.monotonic() < deadline, job
        time.sleep(0.1)
        job = http.get(f"/v1/jobs/{job['id']}").json()
    return job


def test_a_document_may_be_removed_while_its_answers_are_measured(
    http: httpx.Client, service_candor: Candor, resume: threading.Event, tmp_path: Path
) -> None:
    """Otherwise the evaluation failed, and so did each attempt to resume it."""
    (tmp_path / "passing.txt").write_text("The Borea 12 works down to -25 °C.\n")
    run_ingest(service_candor, [tmp_path / "passing.txt"], "passing", progress=False)
    asked = {"collection": "passing", "questions": [{**COLD, "question": HELD}], "configuration": {"mode": "high"}}
    job = http.post("/v1/evaluations", json=asked).json()

    def has_read() -> bool:
        [run] = http.get("/v1/runs", params={"collection": "passing"}).json() or [None]
        events = http.get(f"/v1/runs/{run['run_id']}/events", params={"follow": "false"}).json() if run else []
        return any(
            event["body"]["type"] == "step_finished" and event["body"]["wrote"].get("evidence") for event in events
        )

    until(has_read)
    [known] = http.get("/v1/documents", params={"collection": "passing"}).json()
    assert http.delete(f"/v1/documents/{known['id']}", params={"collection": "passing"}).status_code == 200
    resume.set()
    job = ended(http, job)
    assert job["status"] == "done", job["error"]
    [row] = http.get(f"/v1/evaluations/{job['id']}").json()["result"]["rows"]
    assert row["status"] == "answered"


async def test_the_error_of_an_evaluation_says_what_happened(
    service_candor: Candor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service stores it as the error of the job. A group of tasks says only that there is one."""

    def fail(*_: object) -> None:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(EvaluationStore, "put", fail)
    evaluations = service_candor.evaluations
    questions = QuestionSet(name="one", questions=(Question.model_validate(COLD),))
    started = evaluations.start(questions, "papers", evaluations.make_configuration({"label": "x"}, "test"))
    with service_candor.collections.open_library("papers") as library, pytest.raises(StoreUnavailable, match="full"):
        await evaluations.resume(library, started, parallel=1, budget=Budget(), publish=lambda _: None)


def test_an_evaluation_is_a_job_with_figures_at_its_end(http: httpx.Client, evaluated: dict[str, Any]) -> None:
    assert evaluated["status"] == "done", evaluated
    assert evaluated["kind"] == "evaluation"
    assert evaluated["progress"]["asked"] == evaluated["progress"]["questions"] == 2
    account = http.get(f"/v1/evaluations/{evaluated['id']}").json()
    assert {row["question_id"] for row in account["result"]["rows"]} == {"cold", "none"}
    assert account["summary"]["figures"]["correct"]["n"] == 2
    run = http.get(f"/v1/runs/{account['result']['rows'][0]['run_id']}")
    assert run.json()["answer"]["status"] == account["result"]["rows"][0]["status"]
    assert next(iter(account["meanings"])) == "correct"
    [listed] = [each for each in http.get("/v1/evaluations").json() if each["id"] == evaluated["id"]]
    assert (listed["asked"], listed["questions"]) == (2, 2)
    assert listed["right"] == account["summary"]["figures"]["correct"]["mean"]


def test_it_is_reported_and_compared(http: httpx.Client, evaluated: dict[str, Any]) -> None:
    report = http.get("/v1/evaluations/report", params={"evaluation": evaluated["id"], "format": "html"})
    assert report.headers["content-disposition"].startswith("attachment")
    assert COLD["question"] in report.text
    itself = {"first": evaluated["id"], "second": evaluated["id"]}
    assert http.get("/v1/evaluations/comparison", params=itself).json()["figures"]["correct"]["equal"] == 2


def test_one_that_reached_its_budget_is_resumed(http: httpx.Client) -> None:
    asked = {
        "collection": "papers", "questions": [COLD, NONE], "budget": {"model_calls": 1}, "parallel": 1,
    }  # fmt: skip
    first = ended(http, http.post("/v1/evaluations", json=asked).json())
    assert first["result"]["state"] == "budget reached"
    second = ended(http, http.post(f"/v1/evaluations/{first['id']}/resume", json={}).json())
    assert second["result"]["state"] == "finished"
    assert second["id"] != first["id"]
    assert http.delete(f"/v1/evaluations/{first['id']}").status_code == 204
    assert http.get(f"/v1/evaluations/{first['id']}").status_code == 404


def test_a_file_of_questions_is_read_and_its_faults_are_told_with_their_lines(http: httpx.Client) -> None:
    given = {"name": "mine.csv", "text": 'id,question,accepted,type\nq,How many?,"9,412\n9412",number\n'}
    read = http.post("/v1/evaluations/questions", json=given).json()
    assert read["name"] == "mine"
    assert [(each["id"], each["accepted"]) for each in read["questions"]] == [("q", ["9,412", "9412"])]
    refused = http.post(
        "/v1/evaluations/questions", json={"name": "mine.jsonl", "text": '{"question": "x", "colour": 1}\n{\n'}
    )
    assert refused.status_code == 422
    assert "line 1: unknown field 'colour'" in refused.json()["detail"]
    assert "line 2: not JSON" in refused.json()["detail"]
    csv.field_size_limit(131_072)  # of the process, in which a test of a reader may have run
    no_csv = http.post("/v1/evaluations/questions", json={"name": "mine.csv", "text": f"question\n{'x' * 200_000}\n"})
    assert "line 2: not CSV (field larger" in no_csv.json()["detail"]


def test_one_that_is_under_way_is_not_forgotten(http: httpx.Client) -> None:
    never = {"id": "never", "question": NEVER}
    begun = http.post("/v1/evaluations", json={"collection": "papers", "questions": [never]}).json()
    refused = http.delete(f"/v1/evaluations/{begun['id']}")
    assert refused.status_code == 422
    assert "is active" in refused.json()["detail"]
    assert http.post(f"/v1/jobs/{begun['id']}/cancel").json()["status"] == "cancelled"
    assert http.delete(f"/v1/evaluations/{begun['id']}").status_code == 204


@pytest.mark.parametrize(
    ("wrong", "status", "said"),
    [
        ({"questions": []}, 422, "questions"),
        ({"questions": [COLD, COLD]}, 422, "'cold'"),
        ({"metrics": ["beauty"]}, 422, "beauty"),
        ({"configuration": {"mode": "slow"}}, 422, "mode"),
        ({"judge": "nobody"}, 422, "nobody"),
        ({"collection": "nothing"}, 404, "nothing"),
    ],
)
def test_what_cannot_be_evaluated_is_told_at_once(
    http: httpx.Client, wrong: dict[str, Any], status: int, said: str
) -> None:
    response = http.post("/v1/evaluations", json={"collection": "papers", "questions": [COLD], **wrong})
    assert response.status_code == status
    assert said in response.json()["detail"]

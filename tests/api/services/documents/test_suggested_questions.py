"""Suggested questions over HTTP: a model writes them once, and they become outdated with the collection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.auth.keys import KeyRequest
from api.auth.permissions import Limits, Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import ServiceSettings
from multi_agent.llm.settings import EndpointSettings
from support.panel import SUGGESTION, Panel
from support.replies import Reply, Request, fail
from support.service import RunningService
from support.waiting import LIMIT_S, until

QUESTIONS = ["How cold may it be for the Borea 12?", "Who won the race?"]
WHERE = "/v1/collections/papers/suggestions"
NONE = {"questions": [], "outdated": False}


class Suggester:
    """A model that suggests the same questions, or gives the reply in ``reply``."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.reply: Reply | str = json.dumps({"questions": [*QUESTIONS, QUESTIONS[0]]})

    def __call__(self, request: Request) -> Reply | str:
        self.prompts.append(request.prompt)
        return self.reply


@pytest.fixture
def model() -> Suggester:
    return Suggester()


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "pump.md").write_text("The Borea 12 works down to -25 °C.")
    (folder / "race.md").write_text("Ben Adler won the race.")
    return folder


@pytest.fixture
def candor(
    make_candor: Callable[..., Candor], papers: Path, model: Suggester, serve: Callable[..., EndpointSettings]
) -> Candor:
    service = ServiceSettings(ingest_roots=(papers,))
    made = make_candor(llm=serve(Panel(roles={SUGGESTION: model})), service=service)
    run_ingest(made, [papers], "papers", progress=False)
    return made


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def suggested(http: httpx.Client) -> Any:
    return http.get(WHERE).json()


def test_questions_are_written_from_the_documents_and_stored(http: httpx.Client, model: Suggester) -> None:
    assert suggested(http) == NONE
    assert model.prompts == [], "reading asks no model"
    made = {"questions": QUESTIONS, "outdated": False}
    assert http.post(WHERE).json() == made
    assert suggested(http) == made
    [prompt] = model.prompts
    assert 'From "pump.md":\nThe Borea 12 works down to -25 °C.' in prompt
    assert 'From "race.md":\nBen Adler won the race.' in prompt


def test_questions_become_outdated_with_their_documents(http: httpx.Client, papers: Path, model: Suggester) -> None:
    http.post(WHERE)
    (papers / "race.md").write_text("Eva Mayer won the race.")
    ingest(http, papers)
    assert suggested(http) == {"questions": [], "outdated": True}
    assert http.post(WHERE).json()["questions"] == QUESTIONS
    assert "Eva Mayer" in model.prompts[-1]
    (papers / "boat.md").write_text("The boat has two masts.")
    ingest(http, papers)
    assert suggested(http)["outdated"], "the collection grew by half"


def test_a_failure_of_the_model_is_a_problem_and_keeps_the_questions(http: httpx.Client, model: Suggester) -> None:
    http.post(WHERE)
    model.reply = fail(404, "no such model")
    failed = http.post(WHERE)
    assert failed.status_code == 503
    assert failed.json()["title"] == "Model unavailable"
    assert suggested(http)["questions"] == QUESTIONS


def test_a_deleted_collection_has_no_questions(http: httpx.Client, candor: Candor) -> None:
    http.post(WHERE)
    assert http.delete("/v1/collections/papers?now=true").is_success
    assert candor.suggestions.find("papers") is None
    assert http.get(WHERE).status_code == http.post(WHERE).status_code == 404


def ingest(http: httpx.Client, folder: Path) -> None:
    """Ingest the changes of the folder, and wait for the end of the job."""
    job = http.post("/v1/collections/papers/ingest", json={"paths": [str(folder)]}).json()
    until(lambda: http.get(f"/v1/jobs/{job['id']}").json()["status"] == "done")


def test_suggestions_count_for_the_tokens_of_the_key(candor: Candor, http: httpx.Client, model: Suggester) -> None:
    limits = Limits(tokens_per_day=1000)
    made = candor.keys.add(KeyRequest(name="x", rights={"papers": Right.WRITE}, limits=limits))
    headers = {"Authorization": f"Bearer {made.secret}"}
    questions = json.dumps({"questions": QUESTIONS})
    model.reply = Reply(questions, prompt_tokens=1200)
    assert http.post(WHERE, headers=headers).status_code == 200
    assert candor.trace.tokens_since(made.key.id, made.key.created_at) >= 1200
    refused = http.post(WHERE, headers=headers)
    assert (refused.status_code, len(model.prompts)) == (429, 1)
    assert "1000 tokens a day" in refused.json()["detail"]
    assert http.post("/v1/research", json={"question": "How cold?"}, headers=headers).status_code == 429
    assert http.post(WHERE).status_code == 200, "other callers are not limited"


def test_a_failed_suggestion_counts(candor: Candor, http: httpx.Client, model: Suggester) -> None:
    made = candor.keys.add(KeyRequest(name="x", rights={"papers": Right.WRITE}))
    model.reply = Reply("no JSON", prompt_tokens=1200)
    assert http.post(WHERE, headers={"Authorization": f"Bearer {made.secret}"}).status_code >= 500
    assert candor.trace.tokens_since(made.key.id, made.key.created_at) >= 1200

"""Reports over REST: an outline to edit, a run with sections, exports, and a report that reuses them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.auth.keys import KeyRequest
from api.auth.permissions import Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import ServiceSettings
from multi_agent.llm.settings import EndpointSettings
from support.panel import TRIAGE, Panel, role_of, triage
from support.replies import Reply, Request
from support.service import RunningService
from support.waiting import LIMIT_S

ABOUT = "What do these papers say?"
SECTIONS = [{"title": "Cold", "question": "How cold?"}, {"title": "Soup", "question": "How long does it cook?"}]


class Model:
    """A panel that counts its calls by role."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        roles = {
            TRIAGE: lambda request: json.dumps(triage(request)),
            "Outline": lambda _: json.dumps({"sections": SECTIONS}),
            "DocumentNotes": lambda _: json.dumps({"notes": [{"sentences": [1], "text": "It says something."}]}),
            "FindingsAnalysis": lambda _: json.dumps({"points": []}),
        }
        self._panel = Panel("-25 °C", "20 minutes", roles=roles)

    def __call__(self, request: Request) -> Reply | str:
        if request.schema is not None:
            self.calls.append(role_of(request))
        return self._panel(request)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def candor(
    make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path, model: Model
) -> Candor:
    candor = make_candor(llm=serve(model), service=ServiceSettings(research_process=False))
    run_ingest(candor, [folder], "papers", progress=False)
    run_ingest(candor, [folder], "private", progress=False)
    return candor


@pytest.fixture
def client(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as opened:
        yield opened


def research(client: httpx.Client, sections: list[dict[str, Any]], **more: Any) -> httpx.Response:
    asked = {"question": ABOUT, "collection": "papers", "report": {"sections": sections}, **more}
    return client.post("/v1/research", json=asked)


def test_an_outline_becomes_a_report_whose_sections_are_reused(client: httpx.Client, model: Model) -> None:
    outline = research(client, [], report={"outline_only": True}).json()["sections"]
    assert ([each["title"] for each in outline], model.calls) == (["Cold", "Soup"], ["Outline"])
    edited = [
        {"title": "Cold", "question": outline[0]["question"]},
        {"title": "Meals", "question": "How long does the soup cook?"},
    ]
    answer = research(client, edited).json()
    assert [each["title"] for each in answer["sections"] if each["run"]] == ["Cold", "Meals"]
    for section in answer["sections"]:
        if section["run"]:
            assert client.get(f"/v1/runs/{section['run']}").json()["answer"]["question"] == section["question"]
    exported = client.get(f"/v1/runs/{answer['run_id']}/export", params={"format": "html"})
    assert "<h2>Meals</h2>" in exported.text
    known = client.get(f"/v1/reports/{answer['run_id']}/outline").json()
    assert [each["run"] for each in known] == [each["run"] for each in answer["sections"] if each["run"]]
    model.calls = []
    again = research(client, known).json()
    assert again["status"] == answer["status"]
    assert not {TRIAGE, "ReaderAnswer", "Outline"} & set(model.calls)


def test_a_section_whose_run_was_deleted_is_researched_again(client: httpx.Client, model: Model) -> None:
    answer = research(client, SECTIONS).json()
    gone = next(each["run"] for each in answer["sections"] if each["title"] == "Cold")
    assert client.delete(f"/v1/runs/{gone}").status_code == 204
    known = client.get(f"/v1/reports/{answer['run_id']}/outline").json()
    assert {each["title"]: bool(each["run"]) for each in known} == {"Cold": False, "Soup": True}
    assert research(client, known).json()["status"] == answer["status"]


def test_a_section_cannot_be_a_run_that_the_key_may_not_read(
    candor: Candor, client: httpx.Client, model: Model
) -> None:
    secret = client.post("/v1/research", json={"question": "How cold?", "collection": "private"}).json()["run_id"]
    made = candor.keys.add(KeyRequest(name="x", rights={"papers": Right.READ}))
    model.calls = []
    client.headers["Authorization"] = f"Bearer {made.secret}"
    refused = research(client, [{"title": "Cold", "run": secret}])
    assert (refused.status_code, model.calls) == (404, [])


def test_too_many_sections_and_unknown_formats_are_refused(client: httpx.Client) -> None:
    assert research(client, [{"title": "x"}] * 13).status_code == 422
    assert research(client, [], report={"format": "poem"}).status_code == 422


def test_the_outline_of_an_answer_is_an_error(client: httpx.Client) -> None:
    asked = client.post("/v1/research", json={"question": "How cold?", "collection": "papers"}).json()
    refused = client.get(f"/v1/reports/{asked['run_id']}/outline")
    assert refused.status_code == 422
    assert "it is no report" in refused.text


def test_whole_documents_are_summarized(client: httpx.Client, model: Model) -> None:
    asked = {"question": ABOUT, "collection": "papers", "mode": "direct", "agent": "Summarizer"}
    answer = client.post("/v1/research", json=asked).json()
    assert (answer["status"], sorted(model.calls)) == ("answered", ["DocumentNotes", "DocumentNotes", "WrittenAnswer"])
    assert {each["document"] for each in answer["evidence"]} == {"pumps.md", "soup.txt"}
    assert "Borea" in client.get(f"/v1/runs/{answer['run_id']}/export", params={"format": "md"}).text
    model.calls = []
    one = client.post("/v1/research", json={**asked, "filter": {"documents": ["soup.txt"]}, "question": "What is it?"})
    assert ({each["document"] for each in one.json()["evidence"]}, model.calls) == ({"soup.txt"}, ["WrittenAnswer"])

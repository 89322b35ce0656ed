"""The model list for chat clients. Every listed model must answer a question over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.settings.research import ResearchSettings
from multi_agent.settings.tools import ToolSettings
from support.handyman import TURN, calls, done
from support.panel import ROWS, Panel, role_of, sentences_of
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, RunningService
from support.waiting import LIMIT_S

REMARKS = "Remarks"
READS = "# System\nYou answer.\n# User\n$passages\n\n$question\n"
THINKS = "# System\nYou think.\n# User\n$question\n"


def agent(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Helps.", "gives": "notes", "prompt": THINKS, **more}


LISTED = (
    agent("Librarian", gives="answer", prompt=READS),
    agent("Thinker"),
    agent("Finder", gives="answer", tools=["search_documents"]),
)
LEFT_OUT = (
    agent("Sleeper", enabled=False),
    agent("Surfer", tools=["web_search"]),  # no search engine is configured
)


def respond(request: Request) -> Reply | str:
    """Respond as the panel. An agent with a tool searches once."""
    if role_of(request) == REMARKS:
        return json.dumps({"reasoning": "So it is.", "notes": ["It is cold."]})
    if role_of(request) == TURN:
        searched = any(message["role"] == "assistant" for message in request.messages)
        return done() if searched else calls(("search_documents", {"queries": ["Borea 12"]}))
    if role_of(request) == ROWS:
        found = sentences_of(request, 1, "-25 °C")
        return json.dumps({"answers": [{"column": 1, "sentences": found, "values": ["-25 °C"], "reason": ""}]})
    return Panel("-25 °C")(request)


@pytest.fixture
def candor(make_candor: Callable[..., Candor], folder: Path, tmp_path: Path) -> Iterator[Candor]:
    """Yield Candor with two collections: one with documents, and one whose only file cannot be read."""
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 and then nothing of the kind")
    with ScriptedEndpoint(respond) as endpoint:
        made = make_candor(llm=endpoint.settings("openai"))
        run_ingest(made, [folder], "papers", progress=False)
        run_ingest(made, [broken], "empty", progress=False)
        yield made


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def names_of(http: httpx.Client) -> set[str]:
    return {model["id"] for model in http.get("/v1/models").json()["data"]}


def test_every_listed_model_answers(http: httpx.Client) -> None:
    for each in (*LISTED, *LEFT_OUT):
        made = http.post("/v1/agents", json=each)
        assert made.status_code == 201, made.text
    names = names_of(http)
    assert names == {
        "papers",
        "papers:ForEach",
        "papers:Reader",
        "papers:Summarizer",
        *(f"papers:{each['name']}" for each in LISTED),
    }
    assert "empty" in {each["name"] for each in http.get("/v1/collections").json()}
    for name in sorted(names):
        asked = {"model": name, "messages": [{"role": "user", "content": QUESTION}]}
        response = http.post("/v1/chat/completions", json=asked)
        assert response.status_code == 200, (name, response.text)
        text = response.json()["choices"][0]["message"]["content"]
        assert ("It is cold." if name == "papers:Thinker" else "-25 °C") in text, name


def test_a_model_that_is_not_listed_is_refused(http: httpx.Client) -> None:
    http.post("/v1/agents", json=LEFT_OUT[0])
    for name in ("empty", "papers:Sleeper", "papers:Retriever"):
        refused = http.post(
            "/v1/chat/completions", json={"model": name, "messages": [{"role": "user", "content": "?"}]}
        )
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "model_not_found"), name
        assert http.get(f"/v1/models/{name}").status_code == 404


def test_an_agent_with_a_disabled_tool_is_not_listed(candor: Candor) -> None:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        http.post("/v1/agents", json=LISTED[2])
        assert "papers:Finder" in names_of(http)
    settings = candor.settings.model_copy(update={"tools": ToolSettings(disabled=("search_documents",))})
    limited = Candor(settings)
    limited.embedder = candor.embedder
    with RunningService(limited) as service:
        listed = httpx.get(f"{service.url}/v1/models", timeout=LIMIT_S).json()["data"]
    assert [model["id"] for model in listed] == ["papers", "papers:ForEach", "papers:Reader", "papers:Summarizer"]


def test_a_missing_model_endpoint_is_named(candor: Candor) -> None:
    research = ResearchSettings(agent_models={"Reader": "gone"})
    broken = Candor(candor.settings.model_copy(update={"research": research}))
    with RunningService(broken) as service:
        refused = httpx.get(f"{service.url}/v1/models", timeout=LIMIT_S)
    assert refused.status_code == 503
    assert "Reader needs the model endpoint 'gone'" in refused.json()["error"]["message"]

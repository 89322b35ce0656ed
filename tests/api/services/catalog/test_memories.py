"""Memories over HTTP and the CLI. Only the planner sees them in its prompt."""

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
from multi_agent.settings.research import ResearchSettings
from support.panel import COMPLETION, TRIAGE, UNDERSTANDING, Panel, fast, role_of
from support.replies import Request
from support.service import QUESTION, RunningService
from support.waiting import LIMIT_S

GERMAN = "Answer in German."
HOW_TO = "Operating temperatures are in the data sheets."


class RecordingPanel:
    """A scripted panel that records every role and its prompt."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, str]] = []

    def __call__(self, request: Request) -> str:
        self.prompts.append((role_of(request), request.prompt))
        if role_of(request) == TRIAGE:
            return fast(request)
        return json.dumps(Panel("-25 °C").play(request))

    def roles_that_saw(self, text: str) -> set[str]:
        """Return the roles whose prompts contained this text."""
        return {role for role, prompt in self.prompts if text in prompt}


@pytest.fixture
def panel() -> RecordingPanel:
    return RecordingPanel()


@pytest.fixture
def candor(
    make_candor: Callable[..., Candor], folder: Path, panel: RecordingPanel, serve: Callable[..., EndpointSettings]
) -> Candor:
    made = make_candor(llm=serve(panel), research=ResearchSettings(plan_examples=0))
    run_ingest(made, [folder], "papers", progress=False)
    return made


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def ask(http: httpx.Client, question: str = QUESTION, **more: str) -> dict[str, Any]:
    response = http.post("/v1/research", json={"question": question, **more})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_only_triage_sees_preferences_and_notes(http: httpx.Client, panel: RecordingPanel) -> None:
    ask(http)
    before = dict(panel.prompts)[TRIAGE]
    preference = http.post("/v1/memories", json={"text": GERMAN})
    assert (preference.status_code, preference.json()["kind"]) == (201, "preference")
    assert http.post("/v1/memories", json={"kind": "how_to", "text": HOW_TO}).status_code == 201
    run_id = ask(http)["run_id"]
    assert panel.roles_that_saw(GERMAN) == panel.roles_that_saw(HOW_TO) == {TRIAGE}
    [started] = [each for each in http.get(f"/v1/runs/{run_id}/events?follow=false").json() if each["number"] == 1]
    assert started["body"]["remembered"] == {
        "preferences": [GERMAN], "conversation": [], "how_to": [HOW_TO], "tool_uses": [],
    }  # fmt: skip

    for memory in http.get("/v1/memories").json():
        assert http.delete(f"/v1/memories/{memory['id']}").status_code == 204
    panel.prompts.clear()
    ask(http)
    assert dict(panel.prompts)[TRIAGE] == before


def test_only_the_supervisor_sees_earlier_questions_of_the_session(http: httpx.Client, panel: RecordingPanel) -> None:
    ask(http, session="monday")
    panel.prompts.clear()
    ask(http, "And in summer?", session="monday")
    exchange = f"Question: {QUESTION} Answer: It says so: The Borea 12 works down to -25 °C."
    assert panel.roles_that_saw(exchange) == {COMPLETION}
    panel.prompts.clear()
    ask(http, "And in summer?", session="tuesday")
    assert panel.roles_that_saw(exchange) == set()
    kinds = [(each["kind"], each["session"]) for each in http.get("/v1/memories?kind=conversation").json()]
    assert kinds == [("conversation", "monday"), ("conversation", "monday"), ("conversation", "tuesday")]


def test_memories_of_other_keys_are_hidden(candor: Candor, panel: RecordingPanel) -> None:
    candor.settings = candor.settings.model_copy(update={"service": ServiceSettings(require_key=True)})
    ann, bob = (
        candor.keys.add(KeyRequest(name=name, rights={"papers": Right.READ})).secret for name in ("Ann", "Bob")
    )  # fmt: skip
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        http.headers["X-API-Key"] = ann
        memory_id = http.post("/v1/memories", json={"text": GERMAN}).json()["id"]
        ask(http, session="monday")
        assert panel.roles_that_saw(GERMAN) == {TRIAGE}
        panel.prompts.clear()

        http.headers["X-API-Key"] = bob
        ask(http, session="monday")
        assert panel.roles_that_saw(GERMAN) == panel.roles_that_saw("The conversation, oldest first") == set()
        assert [each["kind"] for each in http.get("/v1/memories").json()] == ["conversation"]
        for answer in (
            http.put(f"/v1/memories/{memory_id}", json={"text": "Mine."}), http.delete(f"/v1/memories/{memory_id}")
        ):  # fmt: skip
            assert (answer.status_code, answer.json()["detail"]) == (404, f"There is no memory {memory_id!r}.")
        assert http.post("/v1/memories", json={"kind": "how_to", "text": HOW_TO}).status_code == 403


def test_a_saved_plan_is_adapted_with_the_preferences(
    http: httpx.Client, candor: Candor, panel: RecordingPanel
) -> None:
    http.post("/v1/memories", json={"text": GERMAN})
    candor.plans.save_from_run("mine", ask(http)["run_id"])
    panel.prompts.clear()
    http.post("/v1/research", json={"question": QUESTION, "template": "mine"})
    assert panel.roles_that_saw(GERMAN) == {UNDERSTANDING}


def test_an_agent_that_is_asked_directly_sees_no_memories(http: httpx.Client, panel: RecordingPanel) -> None:
    http.post("/v1/memories", json={"text": GERMAN})
    ask(http, agent="Reader")
    assert panel.roles_that_saw(GERMAN) == set()


def test_unknown_and_invalid_memories_are_rejected(http: httpx.Client) -> None:
    assert http.put("/v1/memories/mem_0", json={"text": GERMAN}).status_code == 404
    assert http.delete("/v1/memories/mem_0").status_code == 404
    assert http.post("/v1/memories", json={"text": " "}).status_code == 422
    assert http.post("/v1/memories", json={"kind": "conversation", "text": "x"}).status_code == 422


def test_the_cli_manages_memories(run: Callable) -> None:
    added = run("memories", "add", GERMAN, "--json").json
    assert run("memories", "add", HOW_TO, "--how-to").code == 0
    assert run("memories", "edit", added["id"], "Answer in Dutch.").code == 0
    assert [(each["kind"], each["text"]) for each in run("memories", "list", "--json").json] == [
        ("how_to", HOW_TO), ("preference", "Answer in Dutch.")
    ]  # fmt: skip
    assert "Answer in Dutch." in run("memories", "list").out
    assert run("memories", "rm", added["id"]).code == 0
    assert run("memories", "rm", added["id"]).code == 1

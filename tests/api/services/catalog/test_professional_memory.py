"""Successful notes, tool calls and plans, shown with their sources to agents that read memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from support.panel import PLANNER, READING, SYNTHESIS, TRIAGE, Panel, planned, role_of, step
from support.replies import Request
from support.service import QUESTION, RunningService
from support.waiting import LIMIT_S

NOTES, TOOLS = "Remarks", "ToolTurn"
GERMAN = "Answer in German."
HOW_TO = "Operating temperatures are in the data sheets."
WHY = "find down to which temperature the pump works"
SECTION = "=== What worked on similar questions"
SEARCHER = {
    "name": "Searcher",
    "description": "Searches in its own way.",
    "gives": "answer",
    "prompt": "# System\nYou search.\n# User\n$question",
    "tools": ["search_documents"],
    "reads_memory": True,
}
LAWYER = {
    "name": "Lawyer",
    "description": "Notes which clauses bear on the question.",
    "prompt": "# System\nYou know contracts.\n# User\n$question",
}


class RecordingPanel:
    """A scripted panel that plans both agents and records the prompts by role. The Searcher makes one tool call."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, str]] = []

    def __call__(self, request: Request) -> str:
        role = role_of(request)
        self.prompts.append((role, request.prompt))
        if role == PLANNER:
            asked = {"question": QUESTION, "queries": []}
            both = (step("find", "Searcher", inputs=asked), step("clauses", "Lawyer"), step("answer", "Synthesizer"))
            return json.dumps(planned(*both))
        if role == TOOLS:
            search = {"tool": "search_documents", "arguments": {"queries": ["frost"], "limit": 3}, "why": WHY}
            has_searched = any(message["role"] == "assistant" for message in request.messages)
            return json.dumps({"thinking": "", "calls": [] if has_searched else [search]})
        if role == NOTES:
            return json.dumps({"reasoning": "Read it.", "notes": ["Clause 7."]})
        content = "\n\n".join(message["content"] for message in request.messages[1:])  # including the tool results
        shown = [request.messages[0], {"role": "user", "content": content}]
        return json.dumps(Panel("-25 °C").play(replace(request, messages=shown)))

    def roles_that_saw(self, text: str) -> set[str]:
        """Return the roles whose prompts contained this text."""
        return {role for role, prompt in self.prompts if text in prompt}


@pytest.fixture
def panel() -> RecordingPanel:
    return RecordingPanel()


@pytest.fixture
def http(
    make_candor: Callable[..., Candor], folder: Any, panel: RecordingPanel, serve: Callable[..., EndpointSettings]
) -> Iterator[httpx.Client]:
    candor = make_candor(llm=serve(panel))
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        for agent in (SEARCHER, LAWYER):
            assert client.post("/v1/agents", json=agent).status_code == 201
        yield client


def ask(http: httpx.Client, **more: str) -> dict[str, Any]:
    answer: dict[str, Any] = http.post("/v1/research", json={"question": QUESTION, **more}).json()
    assert answer["status"] == "answered", answer
    return answer


def test_an_agent_that_reads_memory_sees_what_worked(http: httpx.Client, panel: RecordingPanel) -> None:
    first = ask(http, agent="Searcher")
    assert panel.roles_that_saw(SECTION) == set(), "nothing is remembered yet"
    [kept] = http.get("/v1/memories?kind=tool_use").json()
    assert (kept["answer"], kept["text"], kept["session"]) == (
        "search_documents(limit, queries)", QUESTION, first["run_id"]
    )  # fmt: skip
    words = json.dumps(kept)
    assert "frost" not in words, "the values of the arguments are not kept"
    assert WHY not in words, "the words of the model are not kept: they may repeat an order of a page"

    http.post("/v1/memories", json={"kind": "how_to", "text": HOW_TO})
    http.post("/v1/memories", json={"text": GERMAN})
    second = ask(http, mode="high", session="monday")
    panel.prompts.clear()
    ask(http, mode="high", session="monday")
    for entry in (
        f"- {HOW_TO} (note of a person)",
        f"- search_documents(limit, queries): {QUESTION} (tool use in {second['run_id']})",
        f"- Searcher → Lawyer → Synthesizer, for “{QUESTION}” (plan that worked)",
    ):
        assert panel.roles_that_saw(entry) == {TOOLS, READING}, entry
    assert panel.roles_that_saw(GERMAN) == {PLANNER}, "preferences are for the supervisor"
    assert not panel.roles_that_saw("The conversation, oldest first") & {TOOLS, READING, NOTES, SYNTHESIS, TRIAGE}

    listed = {each["name"]: each["reads_memory"] for each in http.get("/v1/agents").json()}
    assert {name for name, reads in listed.items() if reads} == {"Searcher"}


def test_deleted_tool_use_is_not_shown(http: httpx.Client, panel: RecordingPanel) -> None:
    ask(http, agent="Searcher")
    [kept] = http.get("/v1/memories?kind=tool_use").json()
    assert http.put(f"/v1/memories/{kept['id']}", json={"text": "Other."}).status_code == 422
    assert http.delete(f"/v1/memories/{kept['id']}").status_code == 204
    ask(http, agent="Searcher")
    assert panel.roles_that_saw(SECTION) == set()

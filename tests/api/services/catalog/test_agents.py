"""Agents and skills that users add over HTTP, with the CLI or as files; the next question uses them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from support.panel import PLANNER, QUERIES, READING, SYNTHESIS, Panel, planned, role_of, step
from support.replies import Request
from support.service import QUESTION, RunningService
from support.waiting import LIMIT_S

NOTES, TOOLS = "Remarks", "ToolTurn"
LAWYER = {
    "name": "Lawyer",
    "description": "Knows contracts. Notes which clauses bear on the question.",
    "capabilities": ["contracts"],
    "prompt": "# System\nYou know contracts.\n# User\nWhole: $question\nTask: $instruction\n\n$evidence\n",
}
PIRATE = {
    "name": "Pirate",
    "description": "Answers as a pirate would.",
    "gives": "answer",
    "weight": 2.5,
    "prompt": "# System\nYou are a pirate.\n# User\nAhoy: $question\n\n$passages\n",
}
FILE = f"""
name = "Lawyer"
description = "Knows contracts."
weight = "none"
prompt = '''
{LAWYER["prompt"]}'''
"""
SKILL = {"name": "plain-words", "instructions": "Short sentences. It costs $5 to break this rule."}


class RecordingPanel:
    """A scripted panel that records the prompts by role."""

    def __init__(self, *steps: dict[str, Any]) -> None:
        self.steps = steps
        self.prompts: dict[str, list[str]] = {}
        self.calls: list[list[dict[str, Any]]] = []

    def __call__(self, request: Request) -> str:
        role = role_of(request)
        self.prompts.setdefault(role, []).append(request.prompt)
        if role == PLANNER and self.steps:
            return json.dumps(planned(*self.steps))
        if role == TOOLS:
            return json.dumps({"thinking": "Let me see.", "calls": self.calls.pop(0)})
        if role == NOTES:
            return json.dumps({"reasoning": "Read it.", "notes": ["Clause 7 excludes frost damage."]})
        content = "\n\n".join(message["content"] for message in request.messages[1:])  # including the tool results
        shown = [request.messages[0], {"role": "user", "content": content}]
        return json.dumps(Panel("-25 °C").play(replace(request, messages=shown)))

    def last_prompt(self, role: str) -> str:
        return self.prompts[role][-1]


def with_lawyer() -> tuple[dict[str, Any], ...]:
    retrieval = {"method": "search", "documents": [], "queries": []}
    return (
        step("find", "Retriever", inputs=retrieval),
        step("extract", "Extractor"),
        step("clauses", "Lawyer"),
        step("answer", "Synthesizer"),
    )


@pytest.fixture
def candor(make_candor: Callable[..., Candor], folder: Path) -> Candor:
    made = make_candor()
    run_ingest(made, [folder], "papers", progress=False)
    return made


@pytest.fixture
def panel(candor: Candor, serve: Callable[..., EndpointSettings]) -> RecordingPanel:
    panel = RecordingPanel()
    candor.settings = candor.settings.model_copy(update={"llm": serve(panel)})
    return panel


@pytest.fixture
def http(candor: Candor, panel: RecordingPanel) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def ask(http: httpx.Client, **more: Any) -> dict[str, Any]:
    response = http.post("/v1/research", json={"question": QUESTION, **more})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_a_new_agent_takes_part_in_the_next_question(http: httpx.Client, panel: RecordingPanel) -> None:
    ask(http)
    assert "Lawyer" not in panel.last_prompt(PLANNER)

    added = http.post("/v1/agents", json=LAWYER)
    assert (added.status_code, added.headers["location"]) == (201, "/v1/agents/Lawyer")
    assert (added.json()["origin"], added.json()["reads"], added.json()["writes"]) == (
        "custom", ["chunks", "evidence"], ["notes"]
    )  # fmt: skip
    panel.steps = with_lawyer()
    assert ask(http)["status"] == "answered"

    assert "- Lawyer (contracts): Knows contracts. Notes which clauses bear on the question." in panel.last_prompt(
        PLANNER
    )
    prompt = panel.last_prompt(NOTES)
    assert "You know contracts." in prompt
    assert f"Whole: {QUESTION}\nTask: Do it." in prompt
    assert "The Borea 12 works down to -25 °C." in prompt  # the prompt contains $evidence
    assert "Lawyer: Clause 7 excludes frost damage." in panel.last_prompt(SYNTHESIS)


def test_changes_to_an_agent_apply_to_the_next_question(http: httpx.Client, panel: RecordingPanel) -> None:
    http.post("/v1/agents", json=LAWYER)
    changed = {**LAWYER, "prompt": "# System\nYou know leases.\n# User\n$question"}
    assert http.put("/v1/agents/Lawyer", json=changed).json()["reads"] == []
    panel.steps = with_lawyer()
    ask(http)
    assert "You know leases." in panel.last_prompt(NOTES)
    assert "The Borea 12 works" not in panel.last_prompt(NOTES)  # the new prompt has no $evidence

    panel.steps = ()
    assert http.patch("/v1/agents/Lawyer", json={"enabled": False}).json()["enabled"] is False
    ask(http)
    assert "- Lawyer" not in panel.last_prompt(PLANNER)
    refused = http.post("/v1/research", json={"question": QUESTION, "agent": "Lawyer"})
    assert (refused.status_code, "is disabled" in refused.json()["detail"]) == (422, True)

    assert http.delete("/v1/agents/Lawyer").status_code == 204
    assert http.get("/v1/agents/Lawyer").status_code == 404


def test_an_answering_agent_can_be_asked_directly(http: httpx.Client, panel: RecordingPanel) -> None:
    assert http.post("/v1/agents", json=PIRATE).json()["direct"] is True
    answer = ask(http, agent="Pirate")
    assert (answer["status"], answer["mode"]) == ("answered", "direct")
    assert [item["quote"] for item in answer["evidence"]] == ["The Borea 12 works down to -25 °C."]
    assert "You are a pirate." in panel.last_prompt(READING)
    assert f"Ahoy: {QUESTION}" in panel.last_prompt(READING)
    assert PLANNER not in panel.prompts


def test_an_answering_agent_votes_with_its_weight(http: httpx.Client, panel: RecordingPanel) -> None:
    http.post("/v1/agents", json=PIRATE)
    inputs = {"question": QUESTION, "queries": []}
    panel.steps = (
        step("both", "Reader", inputs=inputs, also=["Pirate"]),
        step("answer", "Synthesizer"),
    )
    run_id = ask(http)["run_id"]
    events = http.get(f"/v1/runs/{run_id}/events?follow=false").json()
    [voted] = [each["body"] for each in events if each["body"]["type"] == "voted"]
    assert (voted["method"], voted["groups"][0]["weight"]) == ("weighted", 3.5)


def test_an_agent_quotes_what_its_tools_found(http: httpx.Client, panel: RecordingPanel) -> None:
    search = {"tool": "search_documents", "arguments": {"queries": ["frost"], "limit": 3}, "why": "To find it."}
    panel.calls = [[search], []]
    without_passages = {"prompt": "# System\nYou search.\n# User\nAhoy: $question", "tools": ["search_documents"]}
    assert http.post("/v1/agents", json={**PIRATE, **without_passages}).status_code == 201
    answer = ask(http, agent="Pirate")
    assert [item["quote"] for item in answer["evidence"]] == ["The Borea 12 works down to -25 °C."]
    assert answer["coverage"]["chunks_considered"] == 2
    assert "- search_documents: " in panel.last_prompt(TOOLS)
    assert "calculator" not in panel.last_prompt(TOOLS)
    assert "Now give your result" in panel.last_prompt(READING)


def test_a_notes_agent_uses_the_tools_of_its_skills(http: httpx.Client, panel: RecordingPanel) -> None:
    panel.calls = [[{"tool": "calculator", "arguments": {"expression": "6*7"}, "why": "To know."}], []]
    http.post("/v1/skills", json={**SKILL, "tools": ["calculator"]})
    http.post("/v1/agents", json={**LAWYER, "skills": ["plain-words"]})
    ask(http, agent="Lawyer", sources=["documents", "tools"])
    assert '=== result of calculator {"expression": "6*7"}' in panel.last_prompt(READING)
    assert "[1] 42" in panel.last_prompt(READING)


def test_a_notes_agent_can_be_asked_directly(http: httpx.Client, panel: RecordingPanel) -> None:
    http.post("/v1/agents", json=LAWYER)
    answer = ask(http, agent="Lawyer")
    assert (answer["status"], answer["answer"]) == (
        "insufficient", "- Clause 7 excludes frost damage. [unsupported]"
    )  # fmt: skip


def test_an_agent_that_talks_makes_no_claims_and_the_answer_says_so(http: httpx.Client, panel: RecordingPanel) -> None:
    assert http.post("/v1/agents", json={**LAWYER, "gives": "talk"}).json()["direct"] is True
    answer = ask(http, agent="Lawyer")
    assert (answer["status"], answer["answer"], answer["claims"]) == ("answered", "Clause 7 excludes frost damage.", [])
    assert (answer["confidence"], answer["basis"]) == (0.0, "Talk without claims; nothing was checked")
    ask(http)
    assert "- Lawyer" not in panel.last_prompt(PLANNER)


def test_only_the_agents_with_a_skill_have_it_in_their_prompt(http: httpx.Client, panel: RecordingPanel) -> None:
    assert http.post("/v1/skills", json=SKILL).status_code == 201
    http.post("/v1/agents", json={**LAWYER, "skills": ["plain-words"]})
    assert http.patch("/v1/agents/QueryPlanner", json={"skills": ["plain-words"]}).status_code == 200
    assert http.get("/v1/skills/plain-words").json()["given_to"] == ["Lawyer", "QueryPlanner"]
    panel.steps = with_lawyer()
    ask(http)
    panel.steps = ()
    ask(http)
    section = (
        "=== Skill: plain-words\nShort sentences. It costs $5 to break this rule.\n=== End of the skill plain-words"
    )
    roles = {role for role, prompts in panel.prompts.items() if any(section in prompt for prompt in prompts)}
    assert roles == {NOTES, QUERIES}

    in_use = http.delete("/v1/skills/plain-words")
    assert (in_use.status_code, "used by Lawyer, QueryPlanner" in in_use.json()["detail"]) == (422, True)
    http.patch("/v1/agents/QueryPlanner", json={"skills": []})
    http.delete("/v1/agents/Lawyer")
    assert http.delete("/v1/skills/plain-words").status_code == 204


def test_a_built_in_agent_can_only_be_disabled(http: httpx.Client, panel: RecordingPanel) -> None:
    assert http.patch("/v1/agents/Analyst", json={"enabled": False}).json()["enabled"] is False
    ask(http)
    assert "- Analyst:" not in panel.last_prompt(PLANNER)
    assert http.put("/v1/agents/Analyst", json={**LAWYER, "name": "Analyst"}).status_code == 422
    assert http.delete("/v1/agents/Analyst").status_code == 422
    assert http.patch("/v1/agents/Analyst", json={"enabled": True}).json()["enabled"] is True


def test_invalid_changes_are_rejected_with_the_reason(http: httpx.Client) -> None:
    taken = http.post("/v1/agents", json={**LAWYER, "name": "Extractor"})
    assert (taken.status_code, taken.json()["title"]) == (409, "Name taken")
    wrong = http.post("/v1/agents", json={**LAWYER, "prompt": "# System\nx\n# User\n$question $password"})
    assert (wrong.status_code, "contains $password" in wrong.json()["detail"]) == (422, True)
    http.post("/v1/agents", json=LAWYER)
    renamed = http.put("/v1/agents/Lawyer", json={**LAWYER, "name": "Advocate"})
    assert (renamed.status_code, "cannot be renamed" in renamed.json()["detail"]) == (422, True)
    assert http.put("/v1/skills/none-such", json={**SKILL, "name": "none-such"}).status_code == 404


def test_an_agent_from_a_file_is_read_only(http: httpx.Client, candor: Candor) -> None:
    agents = candor.settings.home / "agents"
    agents.mkdir()
    prompt = LAWYER["prompt"]
    (agents / "lawyer.toml").write_text(
        f"name = 'Lawyer'\ndescription = 'Knows contracts.'\nprompt = '''\n{prompt}'''\n"
    )
    listed = http.get("/v1/agents/Lawyer").json()
    assert (listed["origin"], listed["file"]) == ("custom", str(agents / "lawyer.toml"))
    assert http.post("/v1/agents", json=LAWYER).status_code == 409
    refused = http.delete("/v1/agents/Lawyer")
    assert (refused.status_code, refused.json()["title"]) == (409, "Kept in a file")

    (agents / "lawyer.toml").write_text("name = 'Lawyer'\n")
    broken = http.get("/v1/agents")
    assert broken.status_code == 422
    assert "lawyer.toml is not a valid agent: description: Field required; prompt: Field required" in broken.text


def test_the_cli_manages_agents_and_skills(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., EndpointSettings]
) -> None:
    source = tmp_path / "lawyer.toml"
    prompt = LAWYER["prompt"]
    source.write_text(
        f"name = 'Lawyer'\ndescription = 'Knows contracts.'\nweight = 'none'\nprompt = '''\n{prompt}'''\n"
    )
    assert run("agents", "add", source).code == 0
    assert run("agents", "add", source).err.startswith("candor: There is already an agent 'Lawyer'")
    shown = run("agents", "show", "Lawyer").out
    again = tmp_path / "again.toml"
    again.write_text(shown)
    assert run("agents", "edit", "Lawyer", again, "--json").json["custom"] == run(
        "agents", "show", "Lawyer", "--json"
    ).json["custom"]  # fmt: skip
    assert run("agents", "show", "Lawyer", "--json").json["weight"] is None

    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i 's/Knows contracts/Knows leases/' \"$1\"\ntouch -d '+2 seconds' \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    assert run("agents", "edit", "Lawyer").code == 0
    assert "Knows leases." in run("agents", "list").out

    skill = tmp_path / "skill.toml"
    skill.write_text("name = 'plain-words'\ninstructions = 'Short sentences.'\n")
    assert run("skills", "add", skill).code == 0
    assert run("agents", "give", "Synthesizer", "--skill", "plain-words", "--json").json["skills"] == ["plain-words"]
    assert run("skills", "list", "--json").json[0]["given_to"] == ["Synthesizer"]
    assert run("agents", "disable", "Analyst").code == 0
    assert {each["name"] for each in run("agents", "list", "--json").json if not each["enabled"]} == {
        "Analyst", "ForumResearcher", "Utility", "WebResearcher",
    }  # fmt: skip
    assert run("agents", "enable", "Analyst").code == 0
    assert run("agents", "rm", "Lawyer").code == 0
    assert run("agents", "rm", "Synthesizer").err.startswith("candor: 'Synthesizer' is a built-in agent")

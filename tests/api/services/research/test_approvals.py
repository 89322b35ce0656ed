"""Approvals over REST while a run waits, with `candor approvals`, and in `candor ask`."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ask.run import run_question
from api.cli.ingest import run_ingest
from multi_agent.settings.research import ResearchSettings
from multi_agent.settings.tools import ToolSettings
from support.effects.effects import LOG
from support.effects.effects import PACKAGE as TOOLS
from support.handyman import TASK, Terminal, calls, report, rounds
from support.launching.launcher import PACKAGE as AGENTS
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService, follow
from support.waiting import LIMIT_S, until

Run = Callable[..., Any]
ASKED = {**TASK.model_dump(mode="json", exclude_defaults=True), "wait": False}


@pytest.fixture
def candor(make_candor: Callable[..., Candor], folder: Path) -> Iterator[Candor]:
    """Candor with two documents and an agent that calls the dangerous tool ``launch``."""
    model = rounds(calls(("launch", {"what": "rocket"})), last=report("Reported."))
    with ScriptedEndpoint(model) as endpoint:
        made = make_candor(
            llm=endpoint.settings("openai"),
            tools=ToolSettings(packages=(TOOLS,)),
            research=ResearchSettings(agent_packages=(AGENTS,)),
        )
        run_ingest(made, [folder], "papers", progress=False)
        yield made


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def launched(candor: Candor, run_id: str) -> list[str]:
    sandbox = candor.tools.sandbox(run_id)
    return sandbox.read(LOG).decode().split() if sandbox.names() else []


def start_run(http: httpx.Client) -> tuple[str, dict[str, Any]]:
    """Start a run, and return its id and the approval that it waits for."""
    run_id = http.post("/v1/research", json=ASKED).json()["run_id"]
    until(lambda: bool(http.get("/v1/approvals", params={"run_id": run_id}).json()))
    [waiting] = http.get("/v1/approvals").json()
    return run_id, waiting


def test_a_waiting_call_is_listed_edited_and_executed(http: httpx.Client, candor: Candor) -> None:
    run_id, waiting = start_run(http)
    assert (waiting["run_id"], waiting["tool"], waiting["arguments"]) == (run_id, "launch", {"what": "rocket"})
    assert (waiting["status"], waiting["agent"], waiting["reason"]) == ("open", "Handyman", "It helps.")
    assert waiting["arguments_schema"]["required"] == ["what"]
    url = f"/v1/approvals/{waiting['approval_id']}"
    for wrong in ({"decision": "edited"}, {"decision": "edited", "arguments": {"what": 1}}, {"decision": "perhaps"}):
        refused = http.post(url, json=wrong)
        assert (refused.status_code, refused.json()["title"]) == (422, "Wrong input")

    decided = http.post(url, json={"decision": "edited", "arguments": {"what": "balloon"}})
    assert (decided.status_code, decided.json()["status"]) == (200, "edited")
    events = {event["body"]["type"]: event["body"] for event in follow(http, run_id)}
    assert events["approval_requested"]["approval_id"] == waiting["approval_id"]
    assert events["approval_decided"]["by"] == "the person at this machine"
    assert "Reported." in http.get(f"/v1/runs/{run_id}").json()["answer"]["answer"]
    assert launched(candor, run_id) == ["balloon"]

    assert http.get("/v1/approvals").json() == []
    late = http.post(url, json={"decision": "refused"})
    assert (late.status_code, late.json()["title"]) == (409, "Decided already")
    assert "edited, by the person at this machine" in late.json()["detail"]


def test_a_cancelled_run_leaves_no_approval_open(http: httpx.Client, candor: Candor) -> None:
    run_id, waiting = start_run(http)
    http.post(f"/v1/runs/{run_id}/cancel")
    assert http.get("/v1/approvals").json() == []
    late = http.post(f"/v1/approvals/{waiting['approval_id']}", json={"decision": "approved"})
    assert late.status_code == 409
    assert launched(candor, run_id) == []


def test_unknown_approvals_and_runs_are_not_found(http: httpx.Client) -> None:
    unknown = http.post("/v1/approvals/none", json={"decision": "approved"})
    assert (unknown.status_code, unknown.json()["title"]) == (404, "No such approval")
    assert http.get("/v1/approvals", params={"run_id": "run_none"}).status_code == 404


def test_the_cli_lists_and_decides_approvals(http: httpx.Client, candor: Candor, run: Run) -> None:
    run_id, waiting = start_run(http)
    home = candor.settings.home
    listed = run("approvals", "--home", home)
    assert waiting["approval_id"] in listed.out
    edited = run("approvals", "approve", waiting["approval_id"], "--arguments", "3", "--home", home)
    assert (edited.code, "must be a JSON object" in edited.err) == (2, True)
    refused = run("approvals", "refuse", waiting["approval_id"], "--home", home)
    assert (refused.code, refused.err) == (0, f"Refused: launch of run {run_id}.\n")
    follow(http, run_id)
    assert launched(candor, run_id) == []


@pytest.mark.parametrize(
    ("typed", "effect"),
    [("y\n", ["rocket"]), ("n\n", []), ('maybe\n{"what": "balloon"}\n', ["balloon"]), ("", [])],
)
def test_candor_ask_prompts_at_the_terminal(
    candor: Candor,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: str,
    effect: list[str],
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    answer = run_question(candor, TASK, "papers", progress=False)
    assert launched(candor, answer.run_id) == effect
    printed = capsys.readouterr()
    shown = printed.err.index('Handyman wants to call launch with {"what": "rocket"}')
    assert shown < printed.err.index("The model's reason: “It helps.”")
    assert printed.out == ""


def test_candor_ask_without_a_terminal_refuses_the_call(
    candor: Candor, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    answer = run_question(candor, TASK, "papers", progress=False)
    assert launched(candor, answer.run_id) == []
    assert "there is no terminal to ask on" in capsys.readouterr().err

"""Agents that listen to other agents, on the command line and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from support.panel import (
    EXTRACTION,
    INSPECTION,
    PLANNER,
    QUERIES,
    READING,
    SYNTHESIS,
    Panel,
    planned,
    reading,
    role_of,
    step,
)
from support.replies import Request
from support.service import QUESTION, RunningService
from support.waiting import LIMIT_S

HEARD = "Other agents reported this."
MISSING = "how long the lentils boil"
NARROW = ResearchSettings(passages=1, reader_passages=1)
"""Limits with which the first search finds only one of the two documents."""
SKEPTIC = {
    "name": "Skeptic",
    "description": "Doubts what is reported as missing.",
    "prompt": "# System\nYou doubt.\n# User\n$question\nTask: $instruction\n",
    "listens_to": ["missing_reported:DataInspector"],
}
FILE = """
name = "Skeptic"
description = "Doubts what is reported as missing."
prompt = '''
# System
You doubt.
# User
$question
'''
listens_to = ["missing_reported", "reasoning_shared:Extractor"]
"""
Serve = Callable[..., EndpointSettings]


class Model:
    """A panel whose first search misses the soup and whose first extraction cites an invalid sentence."""

    def __init__(self) -> None:
        self.prompts: dict[str, list[str]] = {}

    def __call__(self, request: Request) -> Any:
        role = role_of(request)
        self.prompts.setdefault(role, []).append(request.messages[-1]["content"])
        heard = HEARD in request.prompt
        if role == QUERIES:
            words = ["boil lentils", "lentil soup", "minutes on the stove"]
            pumps = ["Borea 12 limit", "pump in winter", "lowest temperature"]
            return json.dumps({"queries": words if heard else pumps, "reasoning": "So."})
        if role == INSPECTION:
            return json.dumps(Panel().play(request) | {"missing": [MISSING]})
        if role == EXTRACTION and not heard:
            return json.dumps({"items": [{"sentences": [70], "shows": "the limit"}]})
        if role == "Remarks":
            return json.dumps({"reasoning": "Hm.", "notes": ["The soup is beside the point."]})
        return Panel("-25 °C", "Boil the lentils")(request)


@pytest.fixture
def scripted(serve: Serve, use_model: Callable[[EndpointSettings], None], monkeypatch: pytest.MonkeyPatch) -> Model:
    """Configure the command line with a ``Model`` and narrow searches, and return the model."""
    scripted = Model()
    use_model(serve(scripted))
    for name in ("PASSAGES", "READER_PASSAGES"):
        monkeypatch.setenv(f"CANDOR_RESEARCH__{name}", "1")
    return scripted


def test_reactions_appear_in_progress_and_trace(run: Callable[..., Any], folder: Path, scripted: Model) -> None:
    run("ingest", folder)
    asked = run("ask", QUESTION, "--mode", "high", "-v")
    assert asked.code == 0
    for line in (
        "QueryPlanner reacts to DataInspector (missing reported) …",
        "Retriever reacts to QueryPlanner (reasoning shared) …",
        "Extractor reacts to Extractor (evidence rejected) …",
    ):
        assert line in asked.err
    assert "Boil the lentils for 20 minutes." in asked.out
    [wrong, again] = scripted.prompts[EXTRACTION]
    assert "Boil the lentils" in wrong
    assert "quote [70] rejected for “the limit”" in again

    run_id = run("runs", "--json").json[0]["run_id"]
    trace = " ".join(run("trace", run_id).out.split())
    assert "look.QueryPlanner: QueryPlanner reacts to DataInspector (missing reported)" in trace
    assert f"heard: DataInspector (look): missing in the passages: {MISSING}" in trace
    assert "look: DataInspector reports as missing" in trace


def test_reactions_can_be_switched_off(
    run: Callable[..., Any], folder: Path, scripted: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_RESEARCH__REACTIONS", "false")
    run("ingest", folder)
    asked = run("ask", QUESTION, "--mode", "high", "--json")
    assert asked.json["evidence"] == []
    assert "QueryPlanner" in asked.json["summary"]["steps"]
    assert len(scripted.prompts[QUERIES]) == len(scripted.prompts[EXTRACTION]) == 1
    run_id = asked.json["run_id"]
    assert " reacts to " not in run("trace", run_id).out
    assert not any(HEARD in prompt for prompts in scripted.prompts.values() for prompt in prompts)


def test_the_writer_is_told_which_quotes_contradict_each_other(
    run: Callable[..., Any], folder: Path, serve: Serve, use_model: Callable[[EndpointSettings], None]
) -> None:
    prompts: list[str] = []

    def model(request: Request) -> Any:
        if role_of(request) == SYNTHESIS:
            prompts.append(request.messages[-1]["content"])
        return Panel("works down to")(request)

    use_model(serve(model))
    (folder / "notes.md").write_text("# Fair\n\nThe Borea 12 works down to -22 °C.\n")
    run("ingest", folder)
    asked = run("ask", QUESTION, "--mode", "high", "--json").json
    assert {Path(item["document"]).name for item in asked["evidence"]} == {"notes.md", "pumps.md"}
    [prompt] = prompts
    assert prompt.startswith(HEARD)
    sides = "“The Borea 12 works down to -22 °C.” (notes.md) / “The Borea 12 works down to -25 °C.” (pumps.md)"
    assert f"- Extractor (step extract): possible contradiction: {sides}\n" in prompt
    trace = " ".join(run("trace", asked["run_id"]).out.split())
    assert "extract: possible contradiction" in trace
    assert f"heard: Extractor (extract): possible contradiction: {sides}" in trace
    assert asked["summary"]["contradictions"] == 1
    exported = run("export", asked["run_id"], "--format", "md").out
    assert "## Other values in what was read" in exported


class TwoReaders:
    """A panel in which one Reader reads each document, and the two answers differ."""

    FIGURES: ClassVar = {"pumps.md": "-25 °C", "notes.md": "-22 °C"}

    def __init__(self) -> None:
        self.written: list[str] = []

    def __call__(self, request: Request) -> Any:
        role = role_of(request)
        if role == PLANNER:
            readers = [reading(f"read_{number}", QUESTION) for number in range(len(self.FIGURES))]
            for each, document in zip(readers, self.FIGURES, strict=True):
                each["inputs"]["documents"] = [document]
            return json.dumps(planned(*readers, step("answer", "Synthesizer")))
        if role == READING:
            figure = next(figure for document, figure in self.FIGURES.items() if document in request.prompt)
            return json.dumps(json.loads(str(Panel(figure)(request))) | {"short": figure})
        if role == SYNTHESIS:
            self.written.append(request.messages[-1]["content"])
        return Panel()(request)


@pytest.mark.parametrize("reactions", [True, False])
def test_the_writer_is_told_over_http_that_two_readers_contradict_each_other(
    make_candor: Callable[..., Candor], folder: Path, serve: Serve, *, reactions: bool
) -> None:
    model = TwoReaders()
    (folder / "notes.md").write_text("# Fair\n\nAt the fair, the Borea 12 was said to stop at -22 °C.\n")
    candor = make_candor(llm=serve(model), research=ResearchSettings(reactions=reactions))
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        answer = http.post("/v1/research", json={"question": QUESTION, "mode": "high"}).json()
        events = http.get(f"/v1/runs/{answer['run_id']}/events", params={"follow": False}).json()
        exported = http.get(f"/v1/runs/{answer['run_id']}/export", params={"format": "md"}).text

    assert answer["status"] == "answered", answer["reasoning"]
    bodies = [event["body"] for event in events]
    [found] = [body for body in bodies if body["type"] == "contradiction_found"]
    sides = {f"“{figure}” as answer to “{QUESTION}” ({name})" for name, figure in TwoReaders.FIGURES.items()}
    assert set(found["sides"]) == sides
    assert answer["summary"]["contradictions"] == 1
    assert "## Other values in what was read" in exported
    [prompt] = model.written
    assert all(side in prompt for side in sides) is reactions
    [started] = [body for body in bodies if body["type"] == "step_started" and body["agent"] == "Synthesizer"]
    assert [heard["type"] for heard in started["heard"]] == (["contradiction_found"] if reactions else [])


def test_the_command_line_shows_and_adds_listeners(run: Callable[..., Any], tmp_path: Path) -> None:
    assert "Listens to: missing_reported:DataInspector." in run("agents", "show", "QueryPlanner").out
    source = tmp_path / "skeptic.toml"
    source.write_text(FILE)
    assert run("agents", "add", source).code == 0
    assert 'listens_to = ["missing_reported", "reasoning_shared:Extractor"]' in run("agents", "show", "Skeptic").out
    source.write_text(FILE.replace("Skeptic", "Other").replace(":Extractor", ":Nobody"))
    refused = run("agents", "add", source)
    assert refused.code != 0
    assert "listens to 'reasoning_shared:Nobody', but there is no agent 'Nobody'" in refused.err
    source.write_text(FILE.replace("missing_reported", "missing"))
    assert "no agent can listen to 'missing'" in run("agents", "add", source).err


@pytest.fixture
def candor(make_candor: Callable[..., Candor], folder: Path) -> Candor:
    made = make_candor(research=NARROW)
    run_ingest(made, [folder], "papers", progress=False)
    return made


def test_a_listener_added_over_http_reacts(candor: Candor, serve: Serve) -> None:
    model = Model()
    candor.settings = candor.settings.model_copy(update={"llm": serve(model)})
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        refused = http.post("/v1/agents", json={**SKEPTIC, "listens_to": ["missing"]})
        assert (refused.status_code, "no agent can listen to 'missing'" in refused.text) == (422, True)
        assert http.post("/v1/agents", json=SKEPTIC).json()["listens_to"] == SKEPTIC["listens_to"]
        answer = http.post("/v1/research", json={"question": QUESTION, "mode": "high"}).json()
        params = {"follow": False}
        events = http.get(f"/v1/runs/{answer['run_id']}/events", params=params).json()

    assert answer["status"] == "answered"
    assert "Boil the lentils" in answer["answer"]
    woken = {event["step"]: event["body"]["woken_by"] for event in events
             if event["body"]["type"] == "step_started" and event["body"]["woken_by"]}  # fmt: skip
    assert list(woken) == ["look.QueryPlanner", "look.Skeptic", "look.Retriever", "extract.Extractor"]
    assert woken["look.Skeptic"] == {"event": "missing_reported", "agent": "DataInspector", "step": "look"}
    [prompt] = model.prompts["Remarks"]
    assert prompt.startswith(HEARD)
    assert f"- DataInspector (step look): missing in the passages: {MISSING}\n" in prompt
    assert "Skeptic: The soup is beside the point." in model.prompts[SYNTHESIS][0]
    assert answer["usage"]["model_calls"] == sum(map(len, model.prompts.values()))

"""The levels and parents of events, over HTTP and on the command line."""

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
from support.panel import PLANNER, Panel, planned, reading, step
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, RunningService, follow
from support.waiting import LIMIT_S


@pytest.fixture
def candor(make_candor: Callable[..., Candor], folder: Path) -> Iterator[Candor]:
    """A plan with a Reader and a tool. The Synthesizer writes the answer."""
    sum_up = step("sum", "calculator", inputs={"expression": "6 * 7"})
    plan = json.dumps(planned(reading("read", QUESTION), sum_up, step("answer", "Synthesizer")))
    with ScriptedEndpoint(Panel("-25 °C", roles={PLANNER: lambda _: plan})) as endpoint:
        research = ResearchSettings(plan_tools=("calculator",), sources=("documents", "tools"))
        candor = make_candor(llm=endpoint.settings("openai"), research=research)
        run_ingest(candor, [folder], "papers", progress=False)
        yield candor


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def test_each_event_has_a_level_and_a_parent(http: httpx.Client, run: Any, candor: Candor) -> None:
    answer = http.post("/v1/research", json={"question": QUESTION, "mode": "high"}).json()
    assert answer["status"] == "answered", answer
    url = f"/v1/runs/{answer['run_id']}/events"
    events = http.get(url, params={"follow": False}).json()
    by_number = {event["number"]: event for event in events}

    def line_of(event: dict[str, Any]) -> list[str]:
        """The types of an event and its parents, from the root on."""
        above = line_of(by_number[event["parent"]]) if event["parent"] else []
        return [*above, f"{event['level']} {event['body']['type']}"]

    lines = {" / ".join(line_of(event)) for event in events}
    plan = "supervisor run_started / planner plan_made"
    called = "supervisor run_started / planner plan_made / worker step_started / tool tool_called"
    root = plan.partition(" / ")[0]
    assert {
        f"{called} / tool tool_returned",
        f"{root} / planner model_called",
        f"{root} / supervisor run_finished",
    } <= lines
    assert f"{plan} / worker step_started / worker model_called" in lines
    assert all(line.startswith(root) for line in lines), "one root"
    inner = [event for event in events if event["step"] == "read" and event["body"]["type"] != "step_started"]
    starts = {by_number[event["parent"]]["step"] for event in inner}
    assert starts == {"read"}

    for shown in (http.get(url, params={"follow": False, "level": "planner"}).json(), follow_to_planner(http, url)):
        assert {event["level"] for event in shown} == {"supervisor", "planner"}
        assert shown == [event for event in events if event["level"] in ("supervisor", "planner")]
    assert http.get(url, params={"level": "boss"}).status_code == 422
    assert follow(http, answer["run_id"]) == events

    home = ("--home", candor.settings.home)
    traced = run("trace", answer["run_id"], *home).out
    assert "      sum: calculator called calculator" in traced, "indented by three levels"
    folded = run("trace", answer["run_id"], "--level", "supervisor", *home).out
    assert ("calculator called" in folded, len(folded.splitlines()) < len(traced.splitlines()) / 3) == (False, True)
    refused = run("trace", answer["run_id"], "--level", "boss", *home)
    assert (refused.code, "Choose from supervisor, planner, worker, tool" in refused.err) == (2, True)


def follow_to_planner(http: httpx.Client, url: str) -> list[dict[str, Any]]:
    """Return the streamed events of the supervisor and the planner."""
    lines = http.get(url, params={"level": "planner"}).text.splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]

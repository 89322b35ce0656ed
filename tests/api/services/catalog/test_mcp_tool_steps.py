"""Tools of MCP servers as steps of a plan."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.errors import UnknownTool
from multi_agent.settings.research import ResearchSettings
from multi_agent.settings.tools import McpServer, ToolSettings
from support.panel import PLANNER, SYNTHESIS, Panel, planned, role_of, step, synthesis
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService
from support.waiting import LIMIT_S, until

SERVER = Path(__file__).parents[3] / "support" / "mcp_server.py"
BROKEN = McpServer(name="meadow", command="/no/such/program")
GROWS = "roses grows in row 3"


def answering(plan: dict[str, Any]) -> Panel:
    """A panel that follows the plan and cites the result of the tool."""
    claims = synthesis([{"text": "Roses grow in row 3.", "evidence": [1]}], sufficient=True)
    return Panel(roles={PLANNER: lambda _: json.dumps(plan), SYNTHESIS: lambda _: json.dumps(claims)})


def make(make_candor: Callable[..., Candor], folder: Path, endpoint: ScriptedEndpoint, *names: str) -> Candor:
    """Return Candor whose plans may call these tools."""
    research = ResearchSettings(plan_tools=names, sources=("documents", "tools"))
    shed = {"GARDEN": SecretStr(str(folder.parent))}
    garden = McpServer(name="garden", command=sys.executable, args=(str(SERVER),), env=shed, safe=("look",))
    tools = ToolSettings(mcp_servers=(garden, BROKEN))
    candor = make_candor(llm=endpoint.settings("openai"), tools=tools, research=research)
    run_ingest(candor, [folder], "papers", progress=False)
    return candor


def test_a_plan_calls_a_tool_of_a_server_after_an_approval(make_candor: Callable[..., Candor], folder: Path) -> None:
    roses = {"what": "roses", "bed": {"row": 3}}
    panel = answering(planned(step("put", "garden.plant", inputs=roses), step("answer", "Synthesizer")))
    with ScriptedEndpoint(panel) as endpoint:
        candor = make(make_candor, folder, endpoint, "garden.plant")
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            asked = {"question": "Plant roses in row 3.", "mode": "high", "wait": False}
            run_id = http.post("/v1/research", json=asked).json()["run_id"]
            until(lambda: http.get("/v1/approvals", params={"run_id": run_id}).json())
            [approval] = http.get("/v1/approvals").json()
            assert (approval["tool"], approval["arguments"]) == ("garden.plant", roses)
            http.post(f"/v1/approvals/{approval['approval_id']}", json={"decision": "approved"})
            until(lambda: http.get(f"/v1/runs/{run_id}").json()["run"]["status"] not in ("waiting", "running"))
            answer = http.get(f"/v1/runs/{run_id}").json()["answer"]
    assert answer["status"] == "answered", answer
    assert [(item["quote"], item["origin"]["tool"]) for item in answer["evidence"]] == [(GROWS, "garden.plant")]
    assert answer["summary"]["steps"]["garden.plant"] == {"completed": 1}
    [prompt] = [each.prompt for each in endpoint.requests if role_of(each) == PLANNER]
    assert "- garden.plant: A tool, called without a model. Plants something in a bed." in prompt


def test_wrong_arguments_are_rejected_before_the_plan_runs(make_candor: Callable[..., Candor], folder: Path) -> None:
    row = iter((0, 3))

    def respond(request: Request) -> Reply | str:
        inputs = {"what": "roses", "bed": {"row": next(row)}} if role_of(request) == PLANNER else {}
        plan = planned(step("put", "garden.plant", inputs=inputs), step("answer", "Synthesizer"))
        return answering(plan)(request) if role_of(request) == PLANNER else panel(request)

    panel = answering({})
    with ScriptedEndpoint(respond) as endpoint:
        candor = make(make_candor, folder, endpoint, "garden.*")
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            asked = {"question": "Plant roses.", "mode": "high", "wait": False}
            run_id = http.post("/v1/research", json=asked).json()["run_id"]
            until(lambda: http.get("/v1/approvals", params={"run_id": run_id}).json())
            events = http.get(f"/v1/runs/{run_id}/events", params={"follow": False}).json()
    [rejected] = [event["body"] for event in events if event["body"]["type"] == "plan_rejected"]
    assert "bed.row: 0 is less than the minimum of 1" in rejected["faults"][0]


def test_a_server_that_fails_does_not_stop_the_service(
    make_candor: Callable[..., Candor], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plan = {"goal": "Cut", "steps": [{"id": "cut", "agents": ["meadow.mow"], "instruction": "Mow."}]}
    with ScriptedEndpoint(Panel("-25 °C")) as endpoint, caplog.at_level(logging.WARNING):
        candor = make(make_candor, folder, endpoint, "meadow.mow")
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            answer = http.post("/v1/research", json={"question": "How cold?", "mode": "high"}).json()
            assert answer["status"] == "answered", answer
            refused = http.post("/v1/plans", json={"name": "cut", "question": "Cut it?", "plan": plan})
    assert "Plans cannot call the tool meadow.mow" in caplog.text
    assert refused.status_code == 422
    assert "/no/such/program" in refused.json()["detail"]


def test_an_unknown_server_is_an_error(make_candor: Callable[..., Candor]) -> None:
    candor = make_candor(research=ResearchSettings(plan_tools=("forest.look",)))
    with pytest.raises(UnknownTool, match=r"'forest\.look' does not exist"):
        candor.agent_catalog.registry()

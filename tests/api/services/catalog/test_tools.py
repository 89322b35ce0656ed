"""Tools over HTTP and with the CLI: the list of tools, and the tool calls and files of a run."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.settings.research import ResearchSettings
from multi_agent.settings.tools import McpServer, ToolSettings
from multi_agent.toolbox.mcp_servers import McpServers
from support.handyman import TASK, calls, done, report, rounds
from support.reckoner import found
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService
from support.waiting import LIMIT_S
from support.web import Page, Web
from support.writing.writer import PACKAGE

Run = Callable[..., Any]
SERVER = Path(__file__).parents[3] / "support" / "mcp_server.py"
PROMPT = "# System\nYou look around.\n# User\n$question\n"
SERVERS = (
    McpServer(name="garden", command=sys.executable, args=(str(SERVER),), safe=("look",)),
    McpServer(name="meadow", command="/no/such/program"),
)


@pytest.fixture
def candor(make_candor: Callable[..., Candor], folder: Path) -> Iterator[Candor]:
    """Yield Candor with an agent that writes two files and calculates."""
    notes, page = {"name": "notes/a b.txt", "text": "Größe"}, {"name": "page.html", "text": "<script>alert(1)</script>"}
    first_calls = calls(("write_file", notes), ("write_file", page), ("calculator", {"expression": "6 * 7"}))
    with ScriptedEndpoint(rounds(first_calls, last=report("Written."))) as endpoint:
        made = make_candor(
            llm=endpoint.settings("openai"),
            tools=ToolSettings(mcp_servers=SERVERS),
            research=ResearchSettings(agent_packages=(PACKAGE,)),
        )
        run_ingest(made, [folder], "papers", progress=False)
        yield made


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def test_a_run_is_shown_with_its_tool_calls_and_files(http: httpx.Client, run: Run, candor: Candor) -> None:
    asked = TASK.model_dump(mode="json", exclude_defaults=True)
    run_id = http.post("/v1/research", json=asked).json()["run_id"]
    entries = http.get(f"/v1/runs/{run_id}/tool-calls").json()
    results = {entry["tool"]: entry["result"]["text"] for entry in entries}
    assert results["calculator"] == "42"
    assert len(entries) == 3

    files = http.get(f"/v1/runs/{run_id}/files").json()
    assert files == [{"name": "notes/a b.txt", "size": 7, "url": ""}, {"name": "page.html", "size": 25, "url": ""}]
    notes = http.get(f"/v1/runs/{run_id}/files/notes/a%20b.txt")
    assert notes.content.decode() == "Größe"
    page = http.get(f"/v1/runs/{run_id}/files/page.html")
    assert page.headers["content-type"] == "application/octet-stream", "a browser must not render it"
    assert page.headers["content-disposition"] == "attachment; filename*=UTF-8''page.html"
    assert page.headers["x-content-type-options"] == "nosniff"
    for name in ("nothing", "..%2f..%2fcandor.db", "%2Fetc%2Fpasswd", "notes"):
        missing = http.get(f"/v1/runs/{run_id}/files/{name}")
        assert (missing.status_code, missing.json()["title"]) == (404, "No such file"), name
    assert http.get("/v1/runs/run_none/files").status_code == 404
    assert http.get("/v1/runs/run_none/tool-calls").status_code == 404

    home = candor.settings.home
    traced = run("trace", run_id, "--prompts", "--home", home).out.partition("Handyman → calculator")[2]
    assert traced.splitlines()[1:5] == ['{"expression": "6 * 7"}', "It helps.", "─── result", "42"]
    as_json = run("trace", run_id, "--prompts", "--json", "--home", home).json
    assert as_json["tool_calls"] == entries


def test_an_agent_added_over_rest_reads_the_web_and_uses_mcp(make_candor: Callable[..., Candor], folder: Path) -> None:
    with Web() as web:
        web.pages["/pumps"] = Page(b"<p>The Borea 12 is <b>blue</b>.</p>")
        first_calls = calls(("read_web_page", {"url": web.url("/pumps")}), ("garden.look", {}))
        notes = found(("It is blue.", [1]), ("It grows.", []), ("Nothing grows.", [2]), short="blue")
        with ScriptedEndpoint(lambda request: replies.pop(0)) as endpoint:
            replies = [first_calls, done(), notes]
            tools = ToolSettings(mcp_servers=SERVERS, allow_private_addresses=True)
            candor = make_candor(llm=endpoint.settings("openai"), tools=tools)
            run_ingest(candor, [folder], "papers", progress=False)
            with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
                agent = {"name": "Scout", "description": "Looks around.", "gives": "notes", "prompt": PROMPT}
                unknown = http.post("/v1/agents", json={**agent, "tools": ["forest.look"]})
                assert (unknown.status_code, "garden.*" in unknown.json()["detail"]) == (422, True)
                made = http.post("/v1/agents", json={**agent, "tools": ["read_web_page", "garden.look"]})
                assert made.status_code == 201, made.text
                question = f"Which colour? See {web.url('/pumps')}."
                asked = {"question": question, "agent": "Scout", "sources": ["web", "tools"]}
                answer = http.post("/v1/research", json=asked).json()
    assert "\n[1] The Borea 12 is blue." in endpoint.requests[1].prompt
    assert "\n[2] nothing" in endpoint.requests[1].prompt
    assert "It grows. [unsupported]" in answer["answer"]
    assert {quote["quote"] for quote in answer["evidence"]} == {"The Borea 12 is blue.", "nothing"}


def test_tools_of_mcp_servers_are_listed_on_request(http: httpx.Client, run: Run, candor: Candor) -> None:
    with patch.object(McpServers, "tools", side_effect=AssertionError("a GET request starts no program")):
        listed = {each["name"]: each for each in http.get("/v1/tools").json()}
    assert listed["calculator"]["inputs"]["required"] == ["expression"]
    assert {name for name, each in listed.items() if each["dangerous"]} == {"download_file", "garden.*", "meadow.*"}
    assert listed["web_search"]["unavailable"].startswith("No search engine is set")
    asked = {each["name"]: each for each in http.post("/v1/tools/servers").json()}
    assert asked["garden.plant"]["inputs"]["properties"]["bed"]["properties"]["row"]["minimum"] == 1
    assert (asked["garden.plant"]["dangerous"], asked["garden.look"]["dangerous"]) == (True, False)
    assert "/no/such/program" in asked["meadow.*"]["unavailable"]

    table = run("tools", "--home", candor.settings.home).out
    assert re.search(r"^download_file +each call ", table, re.MULTILINE), "it requires approval"

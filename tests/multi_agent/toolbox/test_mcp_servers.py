"""Tools of MCP servers: granted by name like other tools. They need approval unless the settings name them as safe."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from multi_agent.errors import ToolServerFailed, UnknownTool
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.settings.tools import McpServer, ToolSettings
from multi_agent.toolbox.mcp_servers import McpServers, McpTool, arguments_type
from multi_agent.toolbox.toolbox import Toolbox, ToolRegistry
from multi_agent.values.answer import Answer
from support.handyman import TASK, calls, handyman, report, rounds
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S, until

SERVER = Path(__file__).parents[2] / "support" / "mcp_server.py"
PLANT = ("garden.plant", {"what": "rose", "bed": {"row": 2}})
LOOK = ("garden.look", {})
Ask = Callable[..., Awaitable[Answer]]


def garden(folder: Path, *more: str, **settings: Any) -> McpServer:
    """Return the settings of the server, which each run starts."""
    return McpServer(
        name="garden", command=sys.executable, args=(str(SERVER), *more), env={"GARDEN": str(folder)}, **settings
    )


@pytest.fixture
def ask(panel: Callable[..., Orchestrator], make_tools: Callable[..., Toolbox]) -> Ask:
    """Return a function that asks the handyman with these tools: ``await ask(server, endpoint, "garden.plant")``."""

    def research(server: McpServer, endpoint: ScriptedEndpoint, *granted: str, **settings: Any) -> Awaitable[Answer]:
        made = panel(endpoint.settings("openai"), tools=make_tools(mcp_servers=(server,), **settings))
        made.registry.register(handyman(*granted))
        return made.research(TASK)

    return research


async def test_server_tools_get_arguments_that_follow_their_schema(ask: Ask, tmp_path: Path) -> None:
    wrong = ("garden.plant", {"what": "rose", "bed": {"row": 0}})
    with ScriptedEndpoint(lambda request: replies.pop(0)) as endpoint:
        replies = [calls(wrong), calls(PLANT), calls(LOOK), calls(), report("It grows.")]
        answer = await ask(garden(tmp_path, safe=("plant", "look")), endpoint, "garden.*")
    assert "It grows." in answer.answer
    assert (tmp_path / "planted.txt").read_text() == "rose in row 2\n"
    opening = endpoint.requests[0]
    assert "- garden.plant: Plants something in a bed." in opening.prompt
    assert "counted from the fence" in opening.prompt, "what the server's schema refers to is told, too"
    assert "0 is less than the minimum of 1" in endpoint.requests[1].prompt
    assert "rose grows in row 2" in endpoint.requests[2].prompt


async def test_a_tool_not_listed_as_safe_needs_approval(
    ask: Ask, make_tools: Callable[..., Toolbox], tmp_path: Path
) -> None:
    with ScriptedEndpoint(rounds(calls(LOOK, PLANT), last=report("No."))) as endpoint:
        server = garden(tmp_path, safe=("look",))
        await ask(server, endpoint, "garden.plant", "garden.look", approval_timeout_s=0.1)
    assert "Nobody approved this call in time." in endpoint.requests[1].prompt
    assert "--- garden.look {}\n=== result of garden.look (from outside" in endpoint.requests[1].prompt
    assert "\n[1] nothing" in endpoint.requests[1].prompt
    assert not (tmp_path / "planted.txt").exists()


async def test_the_model_sees_tool_errors_and_server_crashes(ask: Ask, tmp_path: Path) -> None:
    stone, mine = (("garden.plant", {"what": what, "bed": {"row": 1}}) for what in ("stone", "mine"))
    with ScriptedEndpoint(rounds(calls(stone), calls(mine), last=report("Alas."))) as endpoint:
        answer = await ask(garden(tmp_path, safe=("plant",)), endpoint, "garden.plant")
    assert "stones do not grow" in endpoint.requests[1].prompt
    assert "The MCP server 'garden'" in endpoint.requests[2].prompt.partition('"what":"mine"')[2]
    assert "Alas." in answer.answer


async def test_what_a_tool_repeats_of_its_arguments_is_no_evidence(ask: Ask, tmp_path: Path) -> None:
    invented = "The warranty of the pump is 9 years."
    plant = ("garden.plant", {"what": invented, "bed": {"row": 2}})
    with ScriptedEndpoint(lambda request: replies.pop(0)) as endpoint:
        replies = [calls(plant), calls(LOOK), calls(), report("9 years", 1, 2)]
        answer = await ask(garden(tmp_path, safe=("plant", "look")), endpoint, "garden.*")
    assert invented in (tmp_path / "planted.txt").read_text()
    assert {item.quote for item in answer.evidence} == {"grows in row 2", "in row 2"}


@pytest.mark.parametrize(
    ("server", "granted", "said"),
    [
        (McpServer(name="garden", command=sys.executable, args=(str(SERVER), "--dead")), "garden.look", "no seeds"),
        (McpServer(name="garden", command="/no/such/program"), "garden.look", "/no/such/program"),
        (McpServer(name="garden", url="http://127.0.0.1:9/mcp"), "garden.look", "http://127.0.0.1:9/mcp"),
        (garden(Path()), "garden.dig", "has no tool 'dig'. Its tools: garden.plant, garden.look"),
        (garden(Path()), "meadow.look", "There is no MCP server 'meadow'"),
    ],
)
async def test_an_unreachable_server_fails_the_step_with_a_remedy(
    ask: Ask, server: McpServer, granted: str, said: str
) -> None:
    with ScriptedEndpoint(rounds(last=report("."))) as endpoint:
        answer = await ask(server, endpoint, granted)
    assert answer.status.value == "failed"
    assert said in answer.reasoning
    assert "tools.mcp_servers" in answer.reasoning or "has no tool" in answer.reasoning


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """Start the server over HTTP and yield its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(SERVER), str(port)], env={"GARDEN": str(tmp_path)})

    def answers() -> bool:
        try:
            httpx.get(f"http://127.0.0.1:{port}/mcp", timeout=LIMIT_S)
        except httpx.TransportError:
            return False
        return True

    until(answers)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.wait()


async def test_a_server_is_reached_over_http_too(ask: Ask, served: str, tmp_path: Path) -> None:
    with ScriptedEndpoint(rounds(calls(PLANT), last=report("It grows."))) as endpoint:
        await ask(McpServer(name="garden", url=served, safe=("plant",)), endpoint, "garden.plant")
    assert "rose grows in row 2" in endpoint.requests[1].prompt
    assert (tmp_path / "planted.txt").exists()


async def test_a_started_server_stops_with_the_run(tmp_path: Path) -> None:
    servers = McpServers(ToolSettings(mcp_servers=(garden(tmp_path),)))
    assert [tool.card.name for tool in await servers.tools("garden", "*")] == [
        "garden.plant", "garden.look", "garden.tell",
    ]  # fmt: skip
    [holder] = [task for task in asyncio.all_tasks() if task.get_name() == "MCP server garden"]
    await servers.close()
    assert holder.done()


def test_a_grant_must_name_a_known_tool_or_server() -> None:
    registry = ToolRegistry.discover(servers=("garden",))
    for name in ("calculator", "garden.plant", "garden.*"):
        registry.require(name)
    for name in ("abacus", "garden", "garden.", "meadow.look"):
        with pytest.raises(UnknownTool, match=r"there are calculator, .*garden\.\*"):
            registry.require(name)


async def test_a_tool_that_is_granted_twice_is_offered_once(ask: Ask, tmp_path: Path) -> None:
    with ScriptedEndpoint(rounds(calls(LOOK), last=report("Nothing."))) as endpoint:
        answer = await ask(garden(tmp_path, safe=("look",)), endpoint, "garden.*", "garden.look")
    assert "Nothing." in answer.answer
    assert endpoint.requests[0].prompt.count("- garden.look: ") == 1


async def test_a_list_of_tools_that_never_ends_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        async def list_tools(self, cursor: str | None) -> Any:
            await asyncio.sleep(0)
            return SimpleNamespace(tools=[], next_cursor="more")

    async def get_client(_: Any) -> Any:
        return Endless()

    monkeypatch.setattr("multi_agent.toolbox.mcp_servers._Connection._get_client", get_client)
    settings = ToolSettings(timeout_s=0.1, mcp_servers=(garden(Path()),))
    with pytest.raises(ToolServerFailed, match=r"it takes over 0\.1 s to list its tools"):
        await McpServers(settings).tools("garden", "look")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": 5}, "have no valid JSON schema: 5 is not"),
        ({"properties": {"what": {"pattern": "("}}}, r"schema: '\(' is not a 'regex'"),
        ({"properties": {"what": {"$ref": "#/$defs/Bed"}}, "$defs": {"Bed": ["row"]}}, r"schema: \['row'\] is not of"),
    ],
)
def test_arguments_without_a_valid_schema_are_rejected(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolServerFailed, match=said):
        arguments_type("plant", schema)


def test_references_may_have_escapes() -> None:
    schema = {"properties": {"bed": {"$ref": "#/$defs/garden~1bed"}}, "$defs": {"garden/bed": {"type": "integer"}}}
    assert arguments_type("plant", schema).json_schema == {"properties": {"bed": {"type": "integer"}}}


def test_a_tool_with_an_odd_name_is_rejected() -> None:
    described: Any = SimpleNamespace(name="plant a rose", title="", description="It plants.", input_schema={})
    connection: Any = SimpleNamespace(server=garden(Path()))
    with pytest.raises(ToolServerFailed, match="has a tool named 'plant a rose'"):
        McpTool(connection, described)


def test_recursive_arguments_are_rejected() -> None:
    schema = {
        "$ref": "#/$defs/Tree",
        "$defs": {"Tree": {"type": "object", "properties": {"of": {"$ref": "#/$defs/Tree"}}}},
    }
    with pytest.raises(ToolServerFailed, match="are recursive"):
        arguments_type("prune", schema)


@pytest.mark.parametrize("wrong", [{}, {"command": "a", "url": "b"}])
def test_a_server_is_started_or_reached(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="needs a command or a url"):
        McpServer(name="garden", **wrong)

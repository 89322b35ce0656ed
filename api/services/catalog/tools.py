"""Describes tools, and returns the files of runs."""

from pathlib import Path
from typing import Any, Self

from pydantic import Field

from api.auth.permissions import Caller
from api.errors import FileNotThere
from api.services.research.runs import find_run
from base.models import FrozenModel
from multi_agent.errors import ToolError, ToolServerFailed
from multi_agent.sandbox import Sandbox
from multi_agent.settings.tools import ToolSettings
from multi_agent.storage.trace import Trace
from multi_agent.tool import ToolCard
from multi_agent.toolbox.mcp_servers import ALL, ask_server
from multi_agent.toolbox.toolbox import Toolbox


class ToolDescription(FrozenModel):
    """A tool that agents can be granted."""

    name: str = Field(description="Name to grant the tool by. 'NAME.*' grants all tools of an MCP server.")
    description: str
    inputs: dict[str, Any] = Field(description="JSON schema of the arguments.")
    dangerous: bool = Field(description="Whether a person must approve each call.")
    fetches: str = Field(
        default="",
        description="Name of the argument that is a URL. A URL that the model wrote needs approval.",
    )
    key: str = Field(default="", description="Name of the key that the tool uses. The key itself is never shown.")
    unavailable: str = Field(default="", description="Why the tool is unavailable with the current settings, or empty.")

    @classmethod
    def of(cls, card: ToolCard, settings: ToolSettings, key: str = "") -> Self:
        """Describe a tool by its card."""
        return cls(
            name=card.name, description=card.description, inputs=card.inputs.model_json_schema(),
            dangerous=card.dangerous, fetches=card.fetches, key=key, unavailable=card.unavailable(settings),
        )  # fmt: skip


class RunFile(FrozenModel):
    """A file that a tool wrote or downloaded."""

    name: str
    size: int
    url: str = Field(default="", description="URL from which it was downloaded. Empty if a tool wrote it.")


async def describe_tools(toolbox: Toolbox, *, ask_servers: bool) -> list[ToolDescription]:
    """Describe all tools. With ``ask_servers``, ask each MCP server for its tools. Otherwise, list only the servers."""
    settings = toolbox.settings
    described = [ToolDescription.of(tool.card, settings) for tool in toolbox.registry]
    for server in settings.mcp_servers:
        if not ask_servers:
            described.append(_whole_server(server.name))
            continue
        try:
            cards = await ask_server(settings, server.name, ALL)
            described += [ToolDescription.of(card, settings, server.key) for card in cards]
        except ToolServerFailed as error:
            described.append(_whole_server(server.name, str(error)))
    return described


async def describe_tool(toolbox: Toolbox, name: str) -> ToolDescription:
    """Describe one tool. For a tool of an MCP server, ask the server. Raises UnknownTool, ToolServerFailed."""
    toolbox.registry.require(name)
    server, dot, tool = name.partition(".")
    if not dot:
        return ToolDescription.of(toolbox.registry.get(name).card, toolbox.settings)
    key = next(each.key for each in toolbox.settings.mcp_servers if each.name == server)
    [card] = await ask_server(toolbox.settings, server, tool)
    return ToolDescription.of(card, toolbox.settings, key)


def list_files(toolbox: Toolbox, trace: Trace, run_id: str, caller: Caller) -> list[RunFile]:
    """Return the files of a run. Raises RunNotFound."""
    sandbox = _sandbox(toolbox, trace, run_id, caller)
    return [_describe(sandbox, name) for name in sandbox.names()]


def find_file(toolbox: Toolbox, trace: Trace, run_id: str, name: str, caller: Caller) -> Path:
    """Return the path of one file of a run. Raises RunNotFound, FileNotThere."""
    try:
        return _sandbox(toolbox, trace, run_id, caller).path(name)
    except ToolError as error:
        raise FileNotThere(str(error)) from error


def _describe(sandbox: Sandbox, name: str) -> RunFile:
    origin = sandbox.origin(name)
    return RunFile(name=name, size=sandbox.size(name), url=origin.url if origin else "")


def _sandbox(toolbox: Toolbox, trace: Trace, run_id: str, caller: Caller) -> Sandbox:
    return toolbox.sandbox(find_run(trace, run_id, caller).run_id)


def _whole_server(server: str, unavailable: str = "") -> ToolDescription:
    return ToolDescription(
        name=f"{server}.{ALL}", description=f"All tools of the MCP server {server!r}.", inputs={}, dangerous=True,
        unavailable=unavailable,
    )  # fmt: skip

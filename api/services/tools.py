"""Tools as people see them: which there are, what a run did with them, and the files that it left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from api.auth.permissions import Caller
from api.bootstrap import Candor
from api.errors import FileNotThere
from api.services.runs import find_run
from multi_agent.errors import ToolError, ToolServerFailed
from multi_agent.storage.tool_calls import ToolEntry
from multi_agent.tool import ToolCard
from multi_agent.toolbox.mcp_servers import ALL, McpServers
from multi_agent.toolbox.sandbox import Sandbox
from multi_agent.toolbox.settings import ToolSettings
from vectorstore.models import FrozenModel


class ToolDescription(FrozenModel):
    """A tool that agents can be granted."""

    name: str = Field(description="what an agent is granted it by; 'NAME.*' are all tools of an MCP server")
    description: str
    inputs: dict[str, Any] = Field(description="JSON schema of its arguments")
    dangerous: bool = Field(description="whether a person has to approve each call")
    unavailable: str = Field(default="", description="why it cannot be used as things are set; empty if it can")

    @classmethod
    def of(cls, card: ToolCard, settings: ToolSettings) -> ToolDescription:
        """Its types as schemas."""
        return cls(
            name=card.name, description=card.description, inputs=card.inputs.model_json_schema(),
            dangerous=card.dangerous, unavailable=card.unavailable(settings),
        )  # fmt: skip


class RunFile(FrozenModel):
    """A file that a tool wrote or downloaded."""

    name: str
    size: int


async def describe_tools(candor: Candor, *, ask_servers: bool) -> list[ToolDescription]:
    """All tools; of MCP servers each one if they are asked, else the servers by name."""
    settings = candor.settings.tools
    described = [ToolDescription.of(tool.card, settings) for tool in candor.tools.registry]
    servers = McpServers(settings)
    try:
        for server in settings.mcp_servers:
            known = _not_asked(server.name, "")
            if not ask_servers:
                described.append(known)
                continue
            try:
                cards = [tool.card for tool in await servers.tools(server.name, ALL)]
                described += [ToolDescription.of(card, settings) for card in cards]
            except ToolServerFailed as error:
                described.append(_not_asked(server.name, str(error)))
    finally:
        await servers.close()
    return described


def tool_calls(candor: Candor, run_id: str, caller: Caller) -> list[ToolEntry]:
    """Every call of a run with its whole result. Raises RunNotFound."""
    return candor.tools.calls.entries(find_run(candor, run_id, caller).run_id)


def files_of(candor: Candor, run_id: str, caller: Caller) -> list[RunFile]:
    """The files of a run. Raises RunNotFound."""
    sandbox = _sandbox(candor, run_id, caller)
    return [RunFile(name=name, size=sandbox.size(name)) for name in sandbox.names()]


def file_of(candor: Candor, run_id: str, name: str, caller: Caller) -> Path:
    """Where one of them lies. Raises RunNotFound, FileNotThere."""
    try:
        return _sandbox(candor, run_id, caller).path(name)
    except ToolError as error:
        raise FileNotThere(str(error)) from error


def _sandbox(candor: Candor, run_id: str, caller: Caller) -> Sandbox:
    return candor.tools.sandbox(find_run(candor, run_id, caller).run_id)


def _not_asked(server: str, unavailable: str) -> ToolDescription:
    return ToolDescription(
        name=f"{server}.{ALL}", description=f"All tools of the MCP server {server!r}.", inputs={}, dangerous=True,
        unavailable=unavailable,
    )  # fmt: skip

"""All tools together, and how agents come by them: of a run, each turn is handed what its agent was granted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from multi_agent.bus import Publish
from multi_agent.library import Library
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.tool import Tool, ToolKit
from multi_agent.toolbox.approval_wait import ApprovalWait, Pause
from multi_agent.toolbox.approvals import Approvals
from multi_agent.toolbox.granted_tool import CallContext, CallNumbers, GrantedTool, OfferedTools
from multi_agent.toolbox.mcp_servers import McpServers
from multi_agent.toolbox.registry import ToolRegistry
from multi_agent.toolbox.sandbox import Sandbox
from multi_agent.toolbox.settings import ToolSettings


@dataclass(frozen=True)
class Toolbox:
    """The tools there are, with what they need. One for all runs; ``sandboxes`` holds a folder for each of them."""

    registry: ToolRegistry
    settings: ToolSettings
    sandboxes: Path
    approvals: Approvals
    calls: ToolCalls

    def open(self, run_id: str, library: Library) -> RunTools:
        """For one run. Close it when the run has ended."""
        return RunTools(self, run_id, library)

    def sandbox(self, run_id: str) -> Sandbox:
        """The files of a run."""
        return Sandbox(self.sandboxes / run_id, self.settings.sandbox_bytes)


class RunTools:
    """The tools of one run."""

    def __init__(self, box: Toolbox, run_id: str, library: Library) -> None:
        self._box, self._run_id = box, run_id
        self._kit = ToolKit(library=library, sandbox=box.sandbox(run_id), settings=box.settings)
        self._numbers = CallNumbers()
        self._servers = McpServers(box.settings)

    def turn(self, agent: str, granted: Iterable[str], step: str, publish: Publish, pause: Pause) -> StepTools:
        """For one turn of an agent."""
        settings = self._box.settings
        approve = ApprovalWait(self._box.approvals, self._run_id, settings.approval_timeout_s, publish, pause)
        hand = CallContext(
            self._run_id, step, agent, publish, approve, self._box.calls, self._numbers, settings.timeout_s
        )  # fmt: skip
        return StepTools(partial(self._take, tuple(granted)), hand, settings)

    async def close(self) -> None:
        """Let go of servers that were started or reached for the run."""
        await self._servers.close()

    async def _take(self, granted: Iterable[str]) -> list[Tool]:
        tools: list[Tool] = []
        for name in granted:
            server, dot, tool = name.partition(".")
            if dot:
                tools += await self._servers.tools(server, tool)
            else:
                tools.append(self._box.registry.get(name).make(self._kit))
        return tools


class StepTools:
    """What an agent was granted, and nothing else."""

    def __init__(self, take: Callable[[], Awaitable[list[Tool]]], hand: CallContext, settings: ToolSettings) -> None:
        self._take, self._hand, self._settings = take, hand, settings
        self.release = hand.release

    async def offered(self) -> OfferedTools:
        """The tools in the agent's hand. Raises UnknownTool for a grant of what there is not, ToolServerFailed."""
        tools = [(tool, tool.card.unavailable(self._settings)) for tool in await self._take()]
        return OfferedTools(
            tools=tuple(GrantedTool(tool, self._hand) for tool, lacking in tools if not lacking),
            unavailable=tuple(f"{tool.card.name}: {lacking}" for tool, lacking in tools if lacking),
            settings=self._settings,
        )

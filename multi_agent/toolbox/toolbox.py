"""The registry and the toolbox of all tools, the tools of a run, and the tools that an agent was granted for a step."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from multi_agent.discovery import find_classes
from multi_agent.errors import AgentError, UnknownTool
from multi_agent.library import Library
from multi_agent.llm.wrappers.journal import Occurrences
from multi_agent.sandbox import Sandbox
from multi_agent.settings.research import Source
from multi_agent.settings.tools import ToolSettings
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.tool import FileReader, Tool, ToolCard, ToolClass, ToolKit
from multi_agent.toolbox.approvals import Approvals, ApprovalWait, Pause
from multi_agent.toolbox.granted_tool import CallContext, GrantedTool, KnownAddresses, OfferedTools
from multi_agent.toolbox.mcp_servers import McpServers, ask_server
from multi_agent.values.bus import Publish

BUILT_IN = "multi_agent.tools"


class ToolRegistry:
    """The tools that agents can be granted, by name.

    registry = ToolRegistry.discover(["multi_agent.tools", "my_agents.tools"])
    registry.get("calculator").card.description
    """

    def __init__(
        self, tools: Iterable[ToolClass] = (), disabled: Iterable[str] = (), servers: Iterable[str] = ()
    ) -> None:
        self._tools: dict[str, ToolClass] = {}
        self._servers = frozenset(servers)
        for tool in tools:
            if tool.card.name in self._tools:
                raise AgentError(f"Two tools are named {tool.card.name!r}. Rename one of them on its card.")
            self._tools[tool.card.name] = tool
        self.disabled: frozenset[str] = frozenset()
        for name in frozenset(disabled):
            self._tools.pop(self.get(name).card.name)
        self.disabled = frozenset(disabled)

    @classmethod
    def discover(
        cls, packages: Iterable[str] = (BUILT_IN,), disabled: Iterable[str] = (), servers: Iterable[str] = ()
    ) -> "ToolRegistry":
        """Return a registry of all classes with a ToolCard that the modules of these packages define.

        Omits ``disabled`` tools. Raises UnknownTool if one of them does not exist. ``servers`` are the names of MCP
        servers. Their tools are not in the registry, because each server lists its own.
        """
        tools = (tool for package in packages for tool in find_classes("tools", package, ToolCard, "tools.packages"))
        return cls(tools, disabled, servers)

    def require(self, name: str) -> None:
        """Raise UnknownTool if no tool of this name can be granted."""
        server, dot, tool = name.partition(".")
        if not (dot and tool and server in self._servers):
            self.get(name)

    def get(self, name: str) -> ToolClass:
        """Return a tool. Raises UnknownTool with the names of all tools."""
        if name not in self._tools:
            reason = "is disabled (`tools.disabled`)" if name in self.disabled else "does not exist"
            there = [*self.names, *(f"{server}.*" for server in sorted(self._servers))]
            raise UnknownTool(f"The tool {name!r} {reason}; there are {', '.join(there)}.")
        return self._tools[name]

    def source_of(self, name: str) -> Source:
        """Return the kind of source of a granted tool's results. Unknown tools count as MCP tools."""
        return self._tools[name].card.source if name in self._tools else "tools"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tools, sorted."""
        return tuple(sorted(self._tools))

    def __iter__(self) -> Iterator[ToolClass]:
        return (self._tools[name] for name in self.names)


@dataclass(frozen=True)
class Toolbox:
    """All tools and their dependencies, for all runs.

    ``sandboxes`` contains a folder for each run. ``files`` reads the pages and files that runs fetch.
    """

    registry: ToolRegistry
    settings: ToolSettings
    sandboxes: Path
    approvals: Approvals
    calls: ToolCalls
    files: FileReader
    _described: dict[str, Sequence[ToolCard]] = field(default_factory=dict, init=False)

    def cards(self, name: str) -> Sequence[ToolCard]:
        """Return the card of a tool, or of all tools of a server for ``SERVER.*``. Asks a server only once.

        Blocks. Raises UnknownTool, ToolServerFailed.
        """
        self.registry.require(name)
        server, dot, tool = name.partition(".")
        if not dot:
            return [self.registry.get(name).card]
        if name not in self._described:
            with ThreadPoolExecutor(1) as thread:  # the caller may have an event loop
                asking = thread.submit(asyncio.run, ask_server(self.settings, server, tool))
                self._described[name] = asking.result()
        return self._described[name]

    def open(self, run_id: str, library: Library, sources: tuple[Source, ...]) -> "RunTools":
        """Return the tools of a run with these allowed sources. Close them when the run has ended."""
        return RunTools(self, run_id, library, sources)

    def sandbox(self, run_id: str) -> Sandbox:
        """Return the sandbox with the files of a run."""
        return Sandbox(self.sandboxes / run_id, self.settings.sandbox_bytes)


class RunTools:
    """The tools of one run. ``offered`` contains the names of the tools that agents could call so far.

    ``addresses`` contains the URLs that they may fetch without an approval.
    """

    def __init__(self, box: Toolbox, run_id: str, library: Library, sources: tuple[Source, ...]) -> None:
        self._box, self._run_id, self._sources = box, run_id, sources
        self._kit = ToolKit(library=library, sandbox=box.sandbox(run_id), settings=box.settings, files=box.files)
        self.offered: set[str] = set()
        self.addresses = KnownAddresses(box.settings.allowed_sites)
        self._occurrences = Occurrences()
        self._servers = McpServers(box.settings)

    def for_step(
        self, agent: str, granted: Sequence[str], step: str, publish: Publish, pause: Pause
    ) -> tuple[Callable[[], Awaitable[OfferedTools]], Callable[[], None]]:
        """Return functions that offer the tools that an agent was granted for one step, and that release its calls."""
        box, settings = self._box, self._box.settings
        context = CallContext(
            self._run_id, step, agent, publish, ApprovalWait(box.approvals, self._run_id, settings, publish, pause),
            box.calls, self._occurrences, settings.timeout_s, self._sources, self.addresses,
        )  # fmt: skip
        return partial(self._offer, granted, context), context.release

    async def _offer(self, granted: Sequence[str], context: CallContext) -> OfferedTools:
        """Return the granted tools that are available. Raises UnknownTool, ToolServerFailed."""
        settings, registry = self._box.settings, self._box.registry
        allowed = [each for each in granted if registry.source_of(each) in self._sources]
        tools = [(tool, tool.card.unavailable(settings)) for tool in await self._create(allowed)]
        self.offered.update(tool.card.name for tool, reason in tools if not reason)
        not_allowed = f"not allowed for this run (`--sources {','.join(self._sources)}`)"
        refused = [f"{name}: {not_allowed}" for name in granted if name not in allowed]
        return OfferedTools(
            tools=tuple(GrantedTool(tool, context) for tool, reason in tools if not reason),
            unavailable=(*refused, *(f"{tool.card.name}: {reason}" for tool, reason in tools if reason)),
            settings=settings,
        )

    async def close(self) -> None:
        """Close the connections to MCP servers and stop the servers that the run started."""
        await self._servers.close()

    async def _create(self, granted: Iterable[str]) -> list[Tool]:
        tools: list[Tool] = []
        for name in granted:
            server, dot, tool = name.partition(".")
            if dot:
                tools += await self._servers.tools(server, tool)
            else:
                tools.append(self._box.registry.get(name)(self._kit))
        return list({tool.card.name: tool for tool in tools}.values())  # 'files.*' and 'files.read' name one twice

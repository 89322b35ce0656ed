"""The registry of tools, which discovers them in packages and finds them by the name on their card."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from multi_agent.discovery import find_classes
from multi_agent.errors import AgentError, UnknownTool
from multi_agent.settings.research import Source
from multi_agent.tool import ToolCard, ToolClass

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
    ) -> ToolRegistry:
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

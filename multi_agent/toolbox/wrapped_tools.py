"""Wrappers that adapt a tool to an agent's task with simpler arguments or a limit on calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from multi_agent.errors import ToolError
from multi_agent.tool import ToolCard, ToolResult
from multi_agent.toolbox.granted_tool import OfferedTool


class NarrowedTool:
    """A tool that takes ``inputs``. ``widen`` converts them to the arguments of the wrapped tool."""

    def __init__(self, tool: OfferedTool, inputs: type[BaseModel], widen: Callable[[Any], BaseModel]) -> None:
        self._tool, self._widen = tool, widen
        self.card = tool.card.model_copy(update={"inputs": inputs})

    async def __call__(self, given: Any, why: str) -> ToolResult:
        return await self._tool(self._widen(given), why)


@dataclass(frozen=True)
class LimitedTool:
    """A tool that can be called for at most ``most`` different items, such as pages."""

    tool: OfferedTool
    most: int
    thing: Callable[[Any], Hashable]
    _known: set[Hashable] = field(default_factory=set)

    @property
    def card(self) -> ToolCard:
        return self.tool.card

    async def __call__(self, given: Any, why: str) -> ToolResult:
        thing = self.thing(given)
        if thing not in self._known and len(self._known) >= self.most:
            raise ToolError(f"{self.card.name} was called for {self.most}, which is all that this task allows.")
        self._known.add(thing)
        return await self.tool(given, why)

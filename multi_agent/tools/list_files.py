"""Lists the files of a run."""

from __future__ import annotations

from typing import ClassVar

from base.models import FrozenModel
from multi_agent.tool import ToolCard, ToolKit, ToolResult


class Nothing(FrozenModel):
    """It takes no arguments."""


class ListFiles:
    """Returns the names and sizes of the files in the sandbox."""

    card: ClassVar[ToolCard] = ToolCard(
        name="list_files",
        description="Lists the files of this run: what was written or downloaded in it.",
        inputs=Nothing,
    )

    def __init__(self, kit: ToolKit) -> None:
        self._sandbox = kit.sandbox

    async def __call__(self, given: Nothing) -> ToolResult:
        lines = [f"{name}: {self._sandbox.size(name)} bytes" for name in self._sandbox.names()]
        return ToolResult(text="\n".join(lines) or "There are no files yet.")

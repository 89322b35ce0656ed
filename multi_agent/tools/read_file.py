"""Reads a text file of the run, and says where it came from.

A file that the run wrote is no source: its text could be the model's own words.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import ToolError
from multi_agent.tool import ToolCard, ToolKit, ToolResult, excerpt
from multi_agent.values.sources import tool_passage


class FileToRead(FrozenModel):
    """Which file."""

    name: str = Field(min_length=1, max_length=200, description="as list_files names it")
    start: int = Field(default=0, ge=0, description="the character to begin with, to read on in a long file")


class ReadFile:
    """Reads files in UTF-8."""

    card: ClassVar[ToolCard] = ToolCard(
        name="read_file", description="Reads a text file of this run, from a character on.", inputs=FileToRead
    )

    def __init__(self, kit: ToolKit) -> None:
        self._kit = kit

    async def __call__(self, given: FileToRead) -> ToolResult:
        try:
            text = self._kit.sandbox.read(given.name).decode()
        except UnicodeDecodeError:
            raise ToolError(f"{given.name!r} is not text in UTF-8.") from None
        origin = self._kit.sandbox.origin(given.name)
        shown = excerpt(text, given.start, self._kit.settings.result_characters)
        if origin is None:
            return ToolResult(text=f"{given.name}, written in this run, so it is no source:\n{shown}", proves=False)
        asked = {**given.model_dump(mode="json"), "from": origin.url}
        passages = (tool_passage(self.card.name, asked, shown),) if shown.strip() else ()
        return ToolResult(text=shown, passages=passages, sources=(origin.url,))

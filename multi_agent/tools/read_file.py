"""Reads a text file of the run."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import ToolError
from multi_agent.tool import ToolCard, ToolKit, ToolResult, excerpt


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
        return ToolResult(text=excerpt(text, given.start, self._kit.settings.result_characters))

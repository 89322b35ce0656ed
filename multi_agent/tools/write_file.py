"""Writes a text file in the sandbox of the run."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.tool import ToolCard, ToolKit, ToolResult


class FileToWrite(FrozenModel):
    """The name of the file and its text."""

    name: str = Field(min_length=1, max_length=200, description="such as 'figures.csv' or 'notes/first.md'")
    text: str = Field(description="the whole text; it takes the place of a file of that name")


class WriteFile:
    """Writes a file in UTF-8. Needs no approval, because files stay in the sandbox."""

    card: ClassVar[ToolCard] = ToolCard(
        name="write_file",
        description="Writes a text file among the files of this run, for the person to take.",
        inputs=FileToWrite,
    )

    def __init__(self, kit: ToolKit) -> None:
        self._sandbox = kit.sandbox

    async def __call__(self, given: FileToWrite) -> ToolResult:
        content = given.text.encode("utf-8", errors="replace")
        self._sandbox.write(given.name, content)
        return ToolResult(text=f"Written: {given.name!r}, {len(content)} bytes.", file=given.name)

"""Reads a downloaded file as passages that can be quoted."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import ToolError
from multi_agent.tool import ToolCard, ToolKit, ToolResult
from multi_agent.tools.read_document import fit_passages


class DownloadToRead(FrozenModel):
    """Which file."""

    name: str = Field(min_length=1, max_length=200, description="as download_file was told to call it")
    start: int = Field(default=1, ge=1, description="the passage to begin with, to read on in a long file")


class ReadDownload:
    """Reads files of every format that can be ingested. Their passages have the URL of the download."""

    card: ClassVar[ToolCard] = ToolCard(
        name="read_download",
        description="Reads a file that download_file kept, such as a PDF, and gives its text as numbered passages, "
        "which can be quoted.",
        inputs=DownloadToRead,
        source="web",
    )

    def __init__(self, kit: ToolKit) -> None:
        self._kit = kit

    async def __call__(self, given: DownloadToRead) -> ToolResult:
        kit, path = self._kit, self._kit.sandbox.path(given.name)
        origin = kit.sandbox.origin(given.name)
        if origin is None:
            raise ToolError(f"{given.name!r} was not downloaded but written in this run; read it with read_file.")
        if kit.files is None:
            raise ToolError("Downloaded files cannot be read here: there is no parser.")
        chunks = await asyncio.to_thread(kit.files.passages, path, origin)
        if given.start > len(chunks):
            raise ToolError(f"{given.name!r} has only {len(chunks)} passages.")
        shown = fit_passages(chunks[given.start - 1 :], kit.settings.result_characters)
        last = given.start + len(shown) - 1
        rest = f" Read on with start={last + 1}." if last < len(chunks) else ""
        text = f"{origin.url}\nPassages {given.start} to {last} of {len(chunks)}.{rest}"
        return ToolResult(text=text, passages=shown, sources=(origin.url,))

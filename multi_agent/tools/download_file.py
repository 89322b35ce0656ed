"""Downloads a file into the sandbox of the run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.tool import ToolCard, ToolKit, ToolResult
from multi_agent.toolbox.web import fetch
from vectorstore.models import WebPage


class Download(FrozenModel):
    """What is to be downloaded."""

    url: str = Field(min_length=1, max_length=2000, description="the file's address, with https:// or http://")
    name: str = Field(min_length=1, max_length=200, description="what to call it among the files of this run")


class DownloadFile:
    """Stores the downloaded bytes. Does not run or unpack them."""

    card: ClassVar[ToolCard] = ToolCard(
        name="download_file",
        description="Downloads a file from the web, such as a PDF, and keeps it among the files of this run. Read it "
        "with read_download.",
        inputs=Download,
        fetches="url",
        source="web",
        dangerous=True,
    )

    def __init__(self, kit: ToolKit) -> None:
        self._kit = kit

    async def __call__(self, given: Download) -> ToolResult:
        fetched = await fetch(given.url, self._kit.settings, self._kit.settings.download_bytes)
        origin = WebPage(url=fetched.url, read_at=datetime.now(UTC))
        self._kit.sandbox.write(given.name, fetched.content, origin)
        text = f"Kept as {given.name!r}: {len(fetched.content)} bytes of the type {fetched.media_type!r}."
        return ToolResult(text=text, sources=(fetched.url,), file=given.name)

"""Reads web pages in this process, because a worker process takes seconds to start."""

from __future__ import annotations

from pathlib import Path

from base.web import Fetched
from multi_agent.errors import ToolError
from multi_agent.tool import PageText
from multi_agent.toolbox.web import read_page
from vectorstore.models import Chunk, WebPage


class PagesHere:
    """Implements ``multi_agent.tool.FileReader``. Reads no downloads."""

    def page(self, page: Fetched) -> PageText:
        return read_page(page)

    def passages(self, path: Path, origin: WebPage) -> tuple[Chunk, ...]:
        raise ToolError("Nothing reads downloads here.")

"""Searches the web with the configured engine."""

from __future__ import annotations

from typing import ClassVar

from multi_agent.settings.tools import ToolSettings
from multi_agent.tool import ToolCard, ToolKit, ToolResult
from multi_agent.toolbox.web_search import WebSearchInput, search_web


def _no_engine(settings: ToolSettings) -> str:
    if settings.search_engine != "off":
        return ""
    return (
        "No search engine is set. Set `tools.web_search_url` to a SearXNG endpoint, or set `tools.web_search` to "
        "'ddgs' to use public search engines."
    )


class WebSearch:
    """Returns addresses, titles, dates and excerpts. The SearXNG endpoint may be on localhost."""

    card: ClassVar[ToolCard] = ToolCard(
        name="web_search",
        description="Searches the web, or forums and posts, and gives addresses with what they are about. Read a page "
        "before you rely on it.",
        inputs=WebSearchInput,
        source="web",
        lacks=_no_engine,
    )

    def __init__(self, kit: ToolKit) -> None:
        self._settings = kit.settings

    async def __call__(self, given: WebSearchInput) -> ToolResult:
        found = await search_web(given, self._settings)
        text = "\n\n".join(each.shown for each in found) or _nothing_found(self._settings)
        return ToolResult(text=text, links=tuple(each.url for each in found))


def _nothing_found(settings: ToolSettings) -> str:
    """Return an explanation of an empty result. ddgs does not report whether its engines refused the search."""
    refused = " Or the search engines refused to answer; try again later." if settings.search_engine == "ddgs" else ""
    return f"Nothing was found.{refused}"

"""Searches the web with the configured engine, and reads web pages as passages that can be quoted."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from base.web import Fetched
from multi_agent.errors import ToolError
from multi_agent.settings.tools import ToolSettings
from multi_agent.tool import KitTool, PageText, ToolCard, ToolResult
from multi_agent.toolbox.web import BrowserUnavailable, WebSearchInput, fetch, rendered, search_web
from multi_agent.tools.documents import read_on
from multi_agent.values.sources import page_passages
from vectorstore.models import Chunk

_TEXT = ("application/json", "application/xml", "application/xhtml+xml")


class Page(FrozenModel):
    """Which page."""

    url: str = Field(min_length=1, max_length=2000, description="its address, with https:// or http://")
    start: int = Field(default=1, ge=1, description="the passage to begin with, to read on in a long page")
    links: bool = Field(default=False, description="whether to list the addresses that the page links to")


class ReadWebPage(KitTool):
    """Returns the text of HTML pages and of text files. Pages that need JavaScript are read in a browser."""

    card: ClassVar[ToolCard] = ToolCard(
        name="read_web_page",
        description="Reads a page of the web and gives its text as numbered passages, which can be quoted.",
        inputs=Page,
        fetches="url",
        source="web",
    )

    async def __call__(self, given: Page) -> ToolResult:
        fetched = await fetch(given.url, self._kit.settings, self._kit.settings.web_bytes)
        read_at, note = datetime.now(UTC), ""
        text = await self._text_of(fetched)
        if text.needs_script:
            fetched, text, note = await self._run_scripts(fetched, text)
        passages = page_passages(fetched.url, read_at, text.title, text.text)
        shown = read_on(passages, given.start, self._kit.settings, "The page")[0] if passages else ()
        about = _about(fetched.url, text, shown, len(passages))
        links = "\n".join(("It links to:", *text.links)) if given.links and text.links else ""
        return ToolResult(
            text="\n".join(part for part in (about, note, links) if part),
            passages=shown,
            sources=(fetched.url,),
            links=text.links,
        )

    async def _run_scripts(self, fetched: Fetched, text: PageText) -> tuple[Fetched, PageText, str]:
        """Return the page after its scripts have run, or the given page and the reason why they did not run."""
        try:
            page = await rendered(fetched, self._kit.settings)
        except BrowserUnavailable as error:
            return fetched, text, f"This page may need JavaScript, which was not run. {error}"
        return page, await self._text_of(page), ""

    async def _text_of(self, page: Fetched) -> PageText:
        media_type = page.media_type
        if not (media_type.startswith("text/") or media_type in _TEXT or media_type.endswith(("+json", "+xml"))):
            raise ToolError(
                f"{page.url} is no page but a file of the type {media_type!r}; download it with download_file, then "
                "read it with read_download."
            )
        return await asyncio.to_thread(self._kit.files.page, page)


def _about(url: str, text: PageText, shown: Sequence[Chunk], count: int) -> str:
    """Return the address, the title, the date and the numbers of the shown passages."""
    title = f"{text.title} ({text.date})" if text.title and text.date else text.title or text.date
    if not shown:
        return "\n".join(part for part in (url, title, "The page has no text.") if part)
    first, last = shown[0].index + 1, shown[-1].index + 1
    rest = f" Read on with start={last + 1}." if last < count else ""
    return "\n".join(part for part in (url, title, f"Passages {first} to {last} of {count}.{rest}") if part)


def _no_engine(settings: ToolSettings) -> str:
    if settings.search_engine != "off":
        return ""
    return (
        "No search engine is set. Set `tools.web_search_url` to a SearXNG endpoint, or set `tools.web_search` to "
        "'ddgs' to use public search engines."
    )


class WebSearch(KitTool):
    """Returns addresses, titles, dates and excerpts. The SearXNG endpoint may be on localhost."""

    card: ClassVar[ToolCard] = ToolCard(
        name="web_search",
        description="Searches the web, or forums and posts, and gives addresses with what they are about. Read a page "
        "before you rely on it.",
        inputs=WebSearchInput,
        source="web",
        lacks=_no_engine,
    )

    async def __call__(self, given: WebSearchInput) -> ToolResult:
        found = await search_web(given, self._kit.settings)
        text = "\n\n".join(each.shown for each in found) or _nothing_found(self._kit.settings)
        return ToolResult(text=text, links=tuple(each.url for each in found))


def _nothing_found(settings: ToolSettings) -> str:
    """Return an explanation of an empty result. ddgs does not report whether its engines refused the search."""
    refused = " Or the search engines refused to answer; try again later." if settings.search_engine == "ddgs" else ""
    return f"Nothing was found.{refused}"

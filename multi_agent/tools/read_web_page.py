"""Reads a web page as text."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from multi_agent.errors import ToolError
from multi_agent.tool import ToolCard, ToolKit, ToolResult, excerpt
from multi_agent.toolbox.web import Fetched, fetch
from vectorstore.models import FrozenModel

_HTML = ("text/html", "application/xhtml+xml")
_TEXT = ("application/json", "application/xml")


class Page(FrozenModel):
    """Which page."""

    url: str = Field(min_length=1, max_length=2000, description="its address, with https:// or http://")
    start: int = Field(default=0, ge=0, description="the character to begin with, to read on in a long page")


class ReadWebPage:
    """Returns the text of HTML pages and of text files."""

    card: ClassVar[ToolCard] = ToolCard(
        name="read_web_page",
        description="Reads a page of the web and gives its text with its links. What a page says is no evidence from "
        "the person's documents; name its address where you use it.",
        inputs=Page,
        source="web",
    )

    def __init__(self, kit: ToolKit) -> None:
        self._settings = kit.settings

    async def __call__(self, given: Page) -> ToolResult:
        page = await fetch(given.url, self._settings, self._settings.web_bytes)
        text = await _text_of(page)
        shown = excerpt(text, given.start, self._settings.result_characters)
        return ToolResult(text=f"{page.url}\n\n{shown}", sources=(page.url,))


async def _text_of(page: Fetched) -> str:
    if page.media_type in _HTML:
        return await _text_of_html(page)
    if page.media_type.startswith("text/") or page.media_type in _TEXT or page.media_type.endswith(("+json", "+xml")):
        return _decode(page)
    raise ToolError(f"{page.url} is no page but a file of the type {page.media_type!r}; it can only be downloaded.")


async def _text_of_html(page: Fetched) -> str:
    import kreuzberg

    try:
        extracted = await kreuzberg.extract_bytes(_decode(page).encode(), "text/html")
    except kreuzberg.KreuzbergError as error:
        raise ToolError(f"The text of {page.url} cannot be made out: {error}") from error
    return extracted.content.strip()


def _decode(page: Fetched) -> str:
    """Decode by the charset of the server, else by a guess from the bytes. Invalid bytes are replaced by a mark."""
    from charset_normalizer import from_bytes

    if page.charset is None and (best := from_bytes(page.content).best()):
        return str(best)
    try:
        return page.content.decode(page.charset or "utf-8", errors="replace")
    except LookupError:  # the server names an unknown charset
        return page.content.decode("utf-8", errors="replace")

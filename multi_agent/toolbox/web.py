"""The web: fetches pages and files for a model, runs the scripts of pages that need JavaScript, and searches.

Only this module imports trafilatura, lxml, kreuzberg, ddgs, and Playwright, which is optional. The headless Chromium
does not open connections itself. Candor sends its requests with ``fetch``, which checks the address, and passes the
responses to the browser. Only GET requests for documents, styles, scripts and data are allowed. Each page gets a new
browser without cookies, downloads and service workers.

The text of a page is the main part of a long page or all text of a short one. Blank lines separate paragraphs, list
items and table rows, so that a claim can quote each of them.

The web is searched through a SearXNG instance, or through ddgs, which asks public search engines. The setting
``tools.web_search`` selects the engine.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

import httpx
from pydantic import AliasChoices, BaseModel, Field, ValidationError

from base import web
from base.installation import extra_command
from base.models import FrozenModel
from base.process import child_environment
from base.web import Fetched, joined
from multi_agent.errors import ToolError
from multi_agent.settings.tools import ToolSettings
from multi_agent.tool import PageText
from vectorstore.settings import without_password

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from playwright.async_api import Browser, Playwright, Route, WebSocketRoute


async def fetch(url: str, settings: ToolSettings, max_bytes: int, params: dict[str, Any] | None = None) -> Fetched:
    """Return a page or file of at most ``max_bytes`` bytes. Raises ToolError with the reason if it cannot."""
    try:
        return await web.fetch(
            url,
            max_bytes=max_bytes,
            timeout_s=settings.timeout_s,
            allow_private=settings.allow_private_addresses,
            setting="tools.allow_private_addresses",
            params=params,
        )
    except web.WebError as error:
        raise ToolError(str(error)) from error


_LOADED = frozenset({"document", "stylesheet", "script", "xhr", "fetch"})
_OFFLINE = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-gpu",
)
_QUIET_SHARE = 0.5
"""Share of the time limit to wait until the network is idle. On pages that poll, it never becomes idle."""


class BrowserUnavailable(Exception):
    """The browser cannot be used. The message gives the reason and the solution."""


async def rendered(page: Fetched, settings: ToolSettings) -> Fetched:
    """Return the page after its scripts have run. Raises BrowserUnavailable, ToolError."""
    if settings.browser == "off":
        raise BrowserUnavailable("The browser is off (`tools.browser`).")
    try:
        from playwright.async_api import Error, async_playwright
    except ImportError as error:
        raise BrowserUnavailable(f"Playwright is not installed: {extra_command('browser')}.") from error
    async with async_playwright() as playwright:
        try:
            browser = await _launch(playwright, settings)
        except Error as error:
            reason = str(error).partition("\n")[0]
            raise BrowserUnavailable(
                f"The browser does not start ({reason}). Run `playwright install chromium`, or set "
                "`tools.browser_path`."
            ) from error
        try:
            async with asyncio.timeout(settings.browser_seconds):
                return await _Visit(page, settings).load(browser)
        except (Error, TimeoutError) as error:
            reason = str(error).partition("\n")[0] or f"it takes longer than {settings.browser_seconds:g} s."
            raise ToolError(f"{page.url} cannot be read in the browser: {reason}") from error
        finally:
            await browser.close()


async def _launch(playwright: Playwright, settings: ToolSettings) -> Browser:
    return await playwright.chromium.launch(
        executable_path=settings.browser_path,
        args=_OFFLINE,
        chromium_sandbox=os.geteuid() != 0,  # Chromium's sandbox does not work for root
        timeout=settings.timeout_s * 1000,
        env={**child_environment()},
    )


class _Visit:
    """One page in one browser, with the number of bytes that it may still load."""

    def __init__(self, page: Fetched, settings: ToolSettings) -> None:
        self._page, self._settings = page, settings
        self._bytes_left = settings.browser_bytes

    async def load(self, browser: Browser) -> Fetched:
        from playwright.async_api import TimeoutError as NotQuiet

        seconds = self._settings.browser_seconds
        context = await browser.new_context(accept_downloads=False, service_workers="block", locale="en-US")
        await context.route("**/*", self._answer)
        await context.route_web_socket("**/*", _close)
        tab = await context.new_page()
        await tab.goto(self._page.url, wait_until="load", timeout=seconds * 1000)
        with suppress(NotQuiet):  # read the content loaded so far
            await tab.wait_for_load_state("networkidle", timeout=seconds * _QUIET_SHARE * 1000)
        content = (await tab.content()).encode()
        if len(content) > self._settings.browser_bytes:
            raise ToolError(f"{tab.url} has more than {self._settings.browser_bytes} bytes.")
        return Fetched(tab.url, "text/html", "utf-8", content)

    async def _answer(self, route: Route) -> None:
        """Fulfil a request of the browser with the response of ``fetch``, or abort it."""
        request = route.request
        if request.method != "GET" or request.resource_type not in _LOADED:
            await route.abort()
            return
        try:
            fetched = await self._fetch(request.url)
        except ToolError:  # the page then loads without this resource
            await route.abort()
            return
        if request.is_navigation_request() and fetched.url != request.url:
            await route.abort()  # its text would appear under the wrong address
            return
        charset = f"; charset={fetched.charset}" if fetched.charset else ""
        await route.fulfill(
            body=fetched.content,
            headers={"Content-Type": f"{fetched.media_type}{charset}", "Access-Control-Allow-Origin": "*"},
        )

    async def _fetch(self, url: str) -> Fetched:
        if url == self._page.url:
            return self._page
        fetched = await fetch(url, self._settings, self._bytes_left)
        self._bytes_left -= len(fetched.content)
        if self._bytes_left < 0:
            raise ToolError(f"{self._page.url} loads more than {self._settings.browser_bytes} bytes.")
        return fetched


async def _close(socket: WebSocketRoute) -> None:
    await socket.close()


_SHORT = 250
"""Minimum characters of a long page. Below, trafilatura finds no main part, and scripts may load more text."""
_MOST_LINKS, _MOST_ATTRIBUTES = 40, 100
_UNSEEN = ("script", "style", "noscript", "template")
_INLINE = ("b", "strong", "i", "em", "u", "mark", "small", "span", "abbr", "cite", "time", "font")
_RULE = re.compile(r"[|\s:-]*")
"""The line below the header of a table."""
_ITEM = re.compile(r"\||[-*] |\d+\. ")


_HTML = ("text/html", "application/xhtml+xml")


def read_page(page: Fetched) -> PageText:
    """Return the text of a page or of a text file. Raises ToolError if it cannot be parsed."""
    if page.media_type in _HTML:
        return read_html(_decode(page), page.url)
    return PageText("", "", _decode(page), (), needs_script=False)


def _decode(page: Fetched) -> str:
    """Decode with the server's charset, otherwise with a guess from the bytes. Replace invalid bytes with a mark."""
    from charset_normalizer import from_bytes

    if page.charset is None and (best := from_bytes(page.content).best()):
        return str(best)
    try:
        return page.content.decode(page.charset or "utf-8", errors="replace")
    except LookupError:  # the server names an unknown charset
        return page.content.decode("utf-8", errors="replace")


def read_html(html: str, url: str) -> PageText:
    """Return the text of a page, with its title, date and links. Raises ToolError if it cannot be parsed."""
    from lxml import etree
    from trafilatura.metadata import extract_metadata

    tree = _parse(html, url)
    for element in tree.iter("*"):
        if len(element.attrib) > _MOST_ATTRIBUTES:  # trafilatura's time grows with their square
            element.attrib.clear()
    has_scripts = tree.find(".//script") is not None
    about = extract_metadata(tree, default_url=url)
    links = tuple(dict.fromkeys(_links(tree, url)))[:_MOST_LINKS]
    etree.strip_elements(tree, *_UNSEEN, with_tail=False)
    etree.strip_tags(tree, *_INLINE)
    text = _main_text(tree, url)
    if len(text) < _SHORT:
        text = _whole_text(tree, url)
    title, date = (str(value or "").strip() for value in (about.title, about.date))
    return PageText(title, date, text, links, has_scripts and len(text) < _SHORT)


def _parse(html: str, url: str) -> HtmlElement:
    from lxml import etree
    from lxml.html import HTMLParser, document_fromstring

    try:
        return document_fromstring(html.encode(), parser=HTMLParser(encoding="utf-8", remove_comments=True))
    except (etree.LxmlError, ValueError) as error:
        raise ToolError(f"The text of {url} cannot be made out: {error}") from error


def _links(tree: HtmlElement, url: str) -> Iterator[str]:
    for element in tree.iter("a"):
        address = joined(url, element.get("href") or "")
        if address.startswith(("http://", "https://")) and address != url:
            yield address


def _main_text(tree: HtmlElement, url: str) -> str:
    from trafilatura import bare_extraction

    found = bare_extraction(tree, url=url, include_tables=True, include_comments=True, favor_recall=True)
    return _blocks((getattr(found, "text", "") or "").splitlines())


def _whole_text(tree: HtmlElement, url: str) -> str:
    import kreuzberg
    from lxml import etree

    body = tree.find("body")
    if body is None:
        return ""
    etree.strip_tags(body, "a")
    try:
        extracted = kreuzberg.extract_bytes_sync(
            etree.tostring(body, encoding="utf-8", method="html"),
            "text/html",
            config=kreuzberg.ExtractionConfig(output_format="markdown"),
        )
    except kreuzberg.KreuzbergError as error:
        raise ToolError(f"The text of {url} cannot be made out: {error}") from error
    return _blocks(line for block in extracted.content.split("\n\n") for line in _lines(block))


def _lines(block: str) -> list[str]:
    """Return the rows or items of a block, or a paragraph as one line."""
    lines = block.splitlines()
    return lines if any(map(_ITEM.match, lines)) else [" ".join(lines).lstrip("#")]


def _blocks(lines: Iterable[str]) -> str:
    """Return the lines with content, separated by blank lines."""
    return "\n\n".join(line.strip() for line in lines if not _RULE.fullmatch(line))


MOST_RESULTS = 20
SearchKind = Literal["general", "news", "science", "it", "social media"]
Since = Literal["", "day", "week", "month", "year"]

_SITES: dict[SearchKind, tuple[str, ...]] = {
    "science": ("arxiv.org", "doi.org", "pubmed.ncbi.nlm.nih.gov", "semanticscholar.org"),
    "it": ("github.com", "stackoverflow.com", "readthedocs.io"),
    "social media": ("reddit.com", "stackexchange.com", "news.ycombinator.com"),
}
"""Sites to search for these kinds, which the engines of ddgs do not support."""
_NOTHING_FOUND = "No results found"


class WebSearchInput(FrozenModel):
    """What is to be searched for, and where."""

    query: str = Field(min_length=1, max_length=500, description="a few words, as one types them into a search engine")
    kind: SearchKind = Field(
        default="general", description="where to look; 'social media' are forums and posts of people"
    )
    since: Since = Field(default="", description="only what is not older than this; empty for any age")
    language: str = Field(default="", pattern=r"^([a-z]{2}(-[A-Z]{2})?)?$", description="such as 'en' or 'de-AT'")
    limit: int = Field(default=8, ge=1, le=MOST_RESULTS, description="results at most")


class FoundPage(BaseModel):
    """A result of a search."""

    url: str = Field(validation_alias=AliasChoices("url", "href"))
    title: str = ""
    excerpt: Annotated[str | None, Field(validation_alias=AliasChoices("content", "body"))] = ""
    date: Annotated[str | None, Field(validation_alias=AliasChoices("publishedDate", "date"))] = None

    @property
    def shown(self) -> str:
        """The result as text for the model."""
        date = f" ({self.date})" if self.date else ""
        return "\n".join(part for part in (f"{self.title}{date}", self.url, self.excerpt or "") if part)


class _Results(BaseModel):
    results: list[FoundPage]


async def search_web(given: WebSearchInput, settings: ToolSettings) -> list[FoundPage]:
    """Return at most ``given.limit`` results. Raises ToolError if the engine fails."""
    search = _search_ddgs if settings.search_engine == "ddgs" else _search_searxng
    return (await search(given, settings))[: given.limit]


async def _search_searxng(given: WebSearchInput, settings: ToolSettings) -> list[FoundPage]:
    params = {"q": given.query, "format": "json", "categories": given.kind}
    params |= {"time_range": given.since} if given.since else {}
    params |= {"language": given.language} if given.language else {}
    url = str(settings.web_search_url)
    engine = f"{without_password(url)} (`tools.web_search_url`)"
    try:
        async with httpx.AsyncClient(timeout=settings.timeout_s, follow_redirects=True) as client:
            headers = settings.bearer(settings.web_search_key)
            response = await client.get(url, params=params, headers=headers)
            response.raise_for_status()
        return _Results.model_validate_json(response.content).results
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ToolError(f"The search engine at {engine} fails: {without_password(str(error))}") from error
    except ValidationError as error:
        raise ToolError(
            f"{engine} does not answer as SearXNG does, with JSON; switch the format `json` on in its settings."
        ) from error


async def _search_ddgs(given: WebSearchInput, settings: ToolSettings) -> list[FoundPage]:
    found = await asyncio.to_thread(_ask_ddgs, given, settings)
    return [FoundPage.model_validate(each) for each in found]


def _ask_ddgs(given: WebSearchInput, settings: ToolSettings) -> list[dict[str, Any]]:
    from ddgs.ddgs import DDGS
    from ddgs.exceptions import DDGSException

    category = "news" if given.kind == "news" else "text"
    options: dict[str, Any] = {"region": _region(given.language), "max_results": given.limit}
    options |= {"timelimit": given.since[0]} if given.since else {}
    options |= {"backend": ",".join(_engines(category, settings))} if settings.web_search_engines else {}
    ddgs = DDGS(timeout=max(1, math.floor(settings.timeout_s / 2)))
    try:
        return (ddgs.news if category == "news" else ddgs.text)(_with_sites(given), **options)
    except DDGSException as error:
        if _NOTHING_FOUND in str(error):
            return []
        raise ToolError(f'No search engine answers (`tools.web_search = "ddgs"`): {error}') from error


def _engines(category: str, settings: ToolSettings) -> tuple[str, ...]:
    """Return the chosen engines of this category. Raises ToolError if there are none, as ddgs would use all others."""
    from ddgs.engines import ENGINES

    chosen = tuple(name for name in settings.web_search_engines if name in ENGINES[category])
    if not chosen:
        raise ToolError(
            f"None of {', '.join(settings.web_search_engines)} (`tools.web_search_engines`) searches for {category}; "
            f"there are {', '.join(sorted(ENGINES[category]))}."
        )
    return chosen


def _region(language: str) -> str:
    """Return a region of ddgs, such as ``at-de`` for ``de-AT``."""
    if not language or language == "en":
        return "us-en"
    code, _, country = language.lower().partition("-")
    return f"{country or code}-{code}"


def _with_sites(given: WebSearchInput) -> str:
    sites = " OR ".join(f"site:{site}" for site in _SITES.get(given.kind, ()))
    return f"{given.query} ({sites})" if sites and "site:" not in given.query else given.query

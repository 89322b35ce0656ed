"""Fetches web pages and files for a model, runs the scripts of pages that need JavaScript, and extracts their text.

Only this module imports trafilatura, lxml and kreuzberg, and Playwright, which is optional. The headless Chromium does
not open connections itself. Candor sends its requests with ``fetch``, which checks the address, and passes the
responses to the browser. Only GET requests for documents, styles, scripts and data are allowed. Each page gets a new
browser without cookies, downloads and service workers.

The text is the main part of a long page or all text of a short one. Blank lines separate paragraphs, list items and
table rows, so that a claim can quote each of them.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

from base import web
from base.process import child_environment
from base.web import Fetched
from multi_agent.errors import ToolError
from multi_agent.settings.tools import ToolSettings

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
        raise BrowserUnavailable("Playwright is not installed: pip install 'candor[browser]'.") from error
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
            raise ToolError(f"{page.url} cannot be read in the browser: {_first_line(error, settings)}") from error
        finally:
            await browser.close()


def _first_line(error: Exception, settings: ToolSettings) -> str:
    return str(error).partition("\n")[0] or f"it takes longer than {settings.browser_seconds:g} s."


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


class PageText(NamedTuple):
    """The text of a page. ``date`` is the publication date in ISO format, if the page gives one."""

    title: str
    date: str
    text: str
    links: tuple[str, ...]
    needs_script: bool
    """Whether the HTML has little text and contains scripts that may load more."""


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
        address = urljoin(url, (element.get("href") or "").strip()).partition("#")[0]
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

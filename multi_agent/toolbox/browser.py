"""Loads pages that need JavaScript in headless Chromium. Only this module imports Playwright, which is optional.

The browser itself does not open connections. Candor sends its requests with ``web.fetch``, which checks the address,
and passes the responses to the browser. Only GET requests for documents, styles, scripts and data are allowed. Each
page gets a new browser without cookies, downloads and service workers.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from base.process import child_environment
from base.web import Fetched
from multi_agent.errors import ToolError
from multi_agent.settings.tools import ToolSettings
from multi_agent.toolbox.web import fetch

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright, Route, WebSocketRoute

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

"""Pages that need JavaScript, read with a real Chromium from a real local server."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from base import web as fetching
from multi_agent.errors import ToolError
from multi_agent.settings.tools import ToolSettings
from support.browser import NO_CHROMIUM, find_chromium
from support.waiting import LIMIT_S
from support.web import Page, Web, redirect

CHROMIUM = find_chromium()
HERE: dict[str, Any] = {"allow_private_addresses": True, "browser_path": CHROMIUM, "timeout_s": 300}
SHELL = b"<html><head><title>App</title></head><body><div id=app></div><script src=/app.js></script></body></html>"
SCRIPT = "fetch('/data.json').then(r => r.json()).then(d => {{ app.textContent = `It weighs ${{d.kg}} kg.` }});{}"

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)


@pytest.fixture
def app(web: Web) -> Web:
    """Publish a page whose text is loaded by a script."""
    web.pages["/app"], web.pages["/app.js"] = Page(SHELL), Page(SCRIPT.format("").encode(), "text/javascript")
    web.pages["/data.json"] = Page(b'{"kg": 120}', "application/json")
    return web


@needs_chromium
async def test_a_page_that_needs_javascript_is_read_in_the_browser(call: Any, app: Web) -> None:
    app.pages["/moved"] = redirect("/app")
    result = await call("read_web_page", {"url": app.url("/moved")}, **HERE)
    assert [chunk.text for chunk in result.passages] == ["It weighs 120 kg."]
    assert result.passages[0].name == app.url("/app")
    assert result.text == f"{app.url('/app')}\nApp\nPassages 1 to 1 of 1."
    assert app.asked == ["/moved", "/app", "/app.js", "/data.json"]


@needs_chromium
async def test_the_browser_reaches_only_allowed_addresses(call: Any, app: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page also requests other local addresses. Only 127.0.0.1 counts as public in this test."""
    monkeypatch.setattr(fetching, "is_public", lambda address: address == "127.0.0.1")
    port = app.url("").rpartition(":")[2]
    attempts = f"""
        fetch('http://localhost.localdomain:{port}/by-name').catch(() => 0);
        fetch('http://0.0.0.0:{port}/by-zero').catch(() => 0);
        fetch('http://[::ffff:127.0.0.1]:{port}/by-mapped').catch(() => 0);
        fetch('http://127.0.0.2:{port}/by-other').catch(() => 0);
        fetch('/posted', {{method: 'POST', body: 'secret'}}).catch(() => 0);
        new WebSocket('ws://127.0.0.1:{port}/by-socket');
        navigator.sendBeacon('/by-beacon', 'secret');
        new Image().src = '/by-picture';
        window.open('http://0.0.0.0:{port}/by-window');
        const a = document.createElement('a');
        a.href = '/by-download'; a.download = 'x'; document.body.append(a); a.click();
        const f = document.createElement('iframe'); f.src = 'http://0.0.0.0:{port}/by-frame'; document.body.append(f);
    """
    app.pages["/app.js"] = Page(SCRIPT.format(attempts).encode(), "text/javascript")
    result = await call("read_web_page", {"url": app.url("/app")}, browser_path=CHROMIUM, timeout_s=LIMIT_S)
    assert "It weighs 120 kg." in result.passages[0].text
    assert [path for path in app.asked if path != "/by-download"] == ["/app", "/app.js", "/data.json"]


@needs_chromium
@pytest.mark.parametrize(
    ("script", "limits", "said"),
    [
        ("", {"browser_bytes": 10}, "more than"),
        ("while (true) {}", {"browser_seconds": 1}, "takes longer than 1 s|Timeout"),
    ],
)
async def test_the_browser_has_limits(
    call: Any, app: Web, monkeypatch: pytest.MonkeyPatch, script: str, limits: dict[str, Any], said: str
) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(ToolSettings, name, limit)
    app.pages["/app.js"] = Page(SCRIPT.format(script).encode(), "text/javascript")
    with pytest.raises(ToolError, match=said):
        await call("read_web_page", {"url": app.url("/app")}, **HERE)


async def test_without_a_browser_the_result_says_what_is_missing(
    call: Any, app: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = await call("read_web_page", {"url": app.url("/app")}, **{**HERE, "browser": "off"})
    assert off.text.splitlines()[2:] == [
        "The page has no text.",
        "This page may need JavaScript, which was not run. The browser is off (`tools.browser`).",
    ]
    missing = await call("read_web_page", {"url": app.url("/app")}, **{**HERE, "browser_path": "/no/such/browser"})
    assert "The browser does not start" in missing.text
    assert "tools.browser_path" in missing.text
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    absent = await call("read_web_page", {"url": app.url("/app")}, **HERE)
    assert f"Playwright is not installed: {sys.executable} -m pip install 'playwright>=" in absent.text
    assert absent.passages == ()


async def test_pages_with_enough_text_are_read_without_the_browser(call: Any, app: Web) -> None:
    text = "The Borea 12 is a heat pump for cold regions. " * 8
    app.pages["/app"] = Page(f"<body><p>{text}</p><script src=/app.js></script>".encode())
    result = await call("read_web_page", {"url": app.url("/app")}, **{**HERE, "browser_path": "/no/such/browser"})
    assert result.passages[0].text == text.strip()
    assert "JavaScript" not in result.text
    assert app.asked == ["/app"]

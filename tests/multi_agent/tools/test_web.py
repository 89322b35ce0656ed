"""Web tools: read pages as text, download files, and block private addresses in every notation."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from typing import Any

import pytest

from base.web import is_public
from multi_agent.errors import ToolError
from multi_agent.sandbox import Sandbox
from multi_agent.tool import ToolResult
from multi_agent.toolbox.toolbox import ToolRegistry
from support.web import Page, Web, redirect
from vectorstore.models import WebPage

HERE: dict[str, Any] = {"allow_private_addresses": True}
PARAGRAPH = (
    "The <b>{}</b> works down to −25&nbsp;°C; see <a href='/{}'>its page</a>. " + "It has sold well in Graz. " * 9
)
PAGE = f"""<html><head><title>Pumps</title><meta name="date" content="2026-03-01"><script>alert(1)</script></head><body>
<nav><a href="/">Home</a><a href="/cookies">Cookies</a></nav><article><h1>Pumps</h1>
<p>{PARAGRAPH.format("Borea", "borea")}</p><p>{PARAGRAPH.format("Auster", "auster")}</p>
<table><tr><th>Model</th><th>Weight</th></tr><tr><td>Borea</td><td>120 kg</td></tr></table></article>
<footer>All rights reserved.</footer></body></html>"""


def texts(result: ToolResult) -> str:
    return "\n\n".join(chunk.text for chunk in result.passages)


async def test_a_page_is_read_as_passages_with_title_date_and_tables(call: Any, web: Web) -> None:
    web.pages["/moved"] = redirect("/pumps")
    web.pages["/pumps"] = Page(PAGE.encode(), "text/html; charset=utf-8")
    before = datetime.now(UTC)
    result = await call("read_web_page", {"url": web.url("/moved")}, **HERE)
    assert result.text == f"{web.url('/pumps')}\nPumps (2026-03-01)\nPassages 1 to 1 of 1."
    assert "The Borea works down to −25 °C; see its page." in texts(result)
    assert "| Borea | 120 kg |" in texts(result).split("\n\n"), "a row can be quoted alone"
    assert not {"alert", "Cookies", "All rights reserved"} & {*texts(result).split()}
    assert result.sources == (web.url("/pumps"),), "where it came from in the end"
    [origin] = {chunk.origin for chunk in result.passages}
    assert isinstance(origin, WebPage)
    assert origin.url == web.url("/pumps")
    assert before <= origin.read_at <= datetime.now(UTC)


async def test_the_links_of_a_page_are_listed_on_request(call: Any, web: Web) -> None:
    web.pages["/pumps"] = Page(PAGE.encode(), "text/html; charset=utf-8")
    result = await call("read_web_page", {"url": web.url("/pumps"), "links": True}, **HERE)
    assert result.text.splitlines()[3:] == [
        "It links to:", *(web.url(path) for path in ("/", "/cookies", "/borea", "/auster")),
    ]  # fmt: skip


async def test_a_short_page_is_read_whole(call: Any, web: Web) -> None:
    web.pages["/short"] = Page(b"<h2>Colours</h2><p>The Borea 12 is <b>blue</b>.</p><ul><li>One<li>Two</ul>")
    result = await call("read_web_page", {"url": web.url("/short")}, **HERE)
    assert texts(result) == "Colours\n\nThe Borea 12 is blue.\n\n- One\n\n- Two"


async def test_pages_in_other_encodings_are_decoded(call: Any, web: Web) -> None:
    body = "<html><head><meta charset='iso-8859-1'></head><body><p>Größe: 5 µm</p></body></html>"
    web.pages["/old"] = Page(body.encode("iso-8859-1"))
    assert texts(await call("read_web_page", {"url": web.url("/old")}, **HERE)) == "Größe: 5 µm"


async def test_a_long_page_is_read_in_parts(call: Any, web: Web) -> None:
    web.pages["/long"] = Page("\n\n".join(f"Paragraph {n}. {'x' * 900}" for n in range(6)).encode(), "text/plain")
    first = await call("read_web_page", {"url": web.url("/long")}, result_characters=2500, **HERE)
    assert first.text.endswith("Passages 1 to 1 of 3. Read on with start=2.")
    assert texts(first).startswith("Paragraph 0.")
    last = await call("read_web_page", {"url": web.url("/long"), "start": 3}, result_characters=2500, **HERE)
    assert texts(last).startswith("Paragraph 4.")
    with pytest.raises(ToolError, match="only 3 passages"):
        await call("read_web_page", {"url": web.url("/long"), "start": 4}, **HERE)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (Page(b"", status=404), "answers 404"),
        (Page(b"\0\1", "image/png"), "download it with download_file"),
        (Page(b""), "Document is empty"),
        (Page(b"x" * 2001, "text/plain"), "more than the 2000 bytes"),
        (redirect("/page"), "redirects"),
        (redirect("ftp://example.org/a"), "only http and https"),
        (redirect("http://nobody.invalid/"), "is not known"),
    ],
)
async def test_unreadable_pages_are_errors_with_a_reason(call: Any, web: Web, page: Page, said: str) -> None:
    web.pages["/page"] = page
    with pytest.raises(ToolError, match=said):
        await call("read_web_page", {"url": web.url("/page")}, web_bytes=2000, **HERE)


async def test_a_compressed_response_is_not_unpacked(call: Any, web: Web) -> None:
    once = gzip.compress(bytes(50_000_000))
    web.pages["/bomb"] = Page(gzip.compress(once), headers={"Content-Encoding": "gzip, gzip"})
    for tool, more in (("read_web_page", {}), ("download_file", {"name": "a"})):
        with pytest.raises(ToolError, match=r"compressed \(gzip, gzip\)"):
            await call(tool, {"url": web.url("/bomb"), **more}, **HERE)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "nonsense", "http://", "gopher://127.0.0.1/"])
async def test_only_addresses_of_the_web_are_fetched(call: Any, url: str) -> None:
    with pytest.raises(ToolError):
        await call("read_web_page", {"url": url}, **HERE)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f000001", "2130706433", "[::1]", "[::ffff:127.0.0.1]"])
async def test_local_addresses_are_blocked_in_every_notation(call: Any, web: Web, host: str) -> None:
    web.pages["/secret"] = Page(b"secret")
    for tool, more in (("read_web_page", {}), ("download_file", {"name": "a"})):
        with pytest.raises(ToolError, match="private network"):
            await call(tool, {"url": web.url("/secret", host), **more})
    assert web.asked == []


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("2002:7f00:1::", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::5db8:d70e", True),
        ("64:ff9b:1::5db8:d70e", False),
        ("fec0::1", False),
    ],
)
def test_embedded_ipv4_addresses_are_checked(address: str, public: bool) -> None:
    assert is_public(address) is public


async def test_a_download_needs_approval_and_is_in_the_sandbox(call: Any, web: Web, sandbox: Sandbox) -> None:
    web.pages["/data"] = Page(b"\0\1\2", "application/octet-stream")
    result = await call("download_file", {"url": web.url("/data"), "name": "in/data.bin"}, **HERE)
    assert result.text == "Kept as 'in/data.bin': 3 bytes of the type 'application/octet-stream'."
    assert sandbox.read("in/data.bin") == b"\0\1\2"
    origin = sandbox.origin("in/data.bin")
    assert origin is not None
    assert origin.url == web.url("/data")
    assert ToolRegistry.discover().get("download_file").card.dangerous
    with pytest.raises(ToolError, match="more than the 2 bytes"):
        await call("download_file", {"url": web.url("/data"), "name": "b"}, download_bytes=2, **HERE)


async def test_a_web_search_returns_urls_with_excerpts(call: Any, web: Web) -> None:
    found = b"""{"query": "pumps", "results": [
        {"url": "https://example.org/a", "title": "Pumps", "content": "All of them.", "engine": "x", "score": 1},
        {"url": "https://example.org/b", "title": "More", "publishedDate": "2026-01-02"},
        {"url": "https://example.org/c", "title": "Too many"}]}"""
    web.pages["/search"] = Page(found, "application/json")
    wanted = {"query": "cold pumps", "kind": "social media", "since": "month", "language": "de", "limit": 2}
    result = await call("web_search", wanted, web_search_url=web.url("/search"))
    assert result.text == ("Pumps\nhttps://example.org/a\nAll of them.\n\nMore (2026-01-02)\nhttps://example.org/b")
    assert result.sources == (), "nothing of them was read yet"
    [asked] = web.asked
    assert asked == "/search?q=cold+pumps&format=json&categories=social+media&time_range=month&language=de"


@pytest.mark.parametrize(
    ("page", "said"), [(Page(b"<html>"), "does not answer as SearXNG"), (Page(b"", status=429), "429")]
)
async def test_a_search_engine_that_fails_is_told(call: Any, web: Web, page: Page, said: str) -> None:
    web.pages["/search"] = page
    with pytest.raises(ToolError, match=said):
        await call("web_search", {"query": "pumps"}, web_search_url=web.url("/search"))

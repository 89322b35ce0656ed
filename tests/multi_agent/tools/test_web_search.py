"""Engines of ``web_search``: the choice by the settings, and requests to ddgs. ``test_web.py`` tests SearXNG."""

from __future__ import annotations

from typing import Any

import pytest
from ddgs.base import BaseSearchEngine
from ddgs.engines import ENGINES
from ddgs.results import TextResult
from pydantic import ValidationError

from multi_agent.errors import ToolError
from multi_agent.settings.tools import ToolSettings
from multi_agent.toolbox.toolbox import ToolRegistry
from support.web import Page, Web

FOUND = b"""<ul><li><h2><a href="https://example.org/a">Pumps</a></h2><p>All of them.</p></li>
<li><h2><a href="https://example.org/b">More</a></h2><p>Others.</p></li></ul>"""


@pytest.fixture
def engine(web: Web, monkeypatch: pytest.MonkeyPatch) -> Web:
    """Replace all text engines of ddgs with a local search engine."""

    class Local(BaseSearchEngine[TextResult]):
        name, category, provider = "local", "text", "local"
        search_url, search_method = web.url("/search"), "GET"
        items_xpath = "//li"
        elements_xpath = {"title": ".//h2//text()", "href": ".//h2/a/@href", "body": ".//p//text()"}  # noqa: RUF012

        def build_payload(
            self, query: str, region: str, safesearch: str, timelimit: str | None, page: int, **_: str
        ) -> dict[str, Any]:
            return {"q": query, "region": region, "time": timelimit or ""}

    monkeypatch.setitem(ENGINES, "text", {"local": Local})
    web.pages["/search"] = Page(FOUND)
    return web


async def test_ddgs_asks_public_engines(call: Any, engine: Web) -> None:
    wanted = {"query": "cold pumps", "since": "month", "language": "de-AT", "limit": 2}
    result = await call("web_search", wanted, web_search="ddgs")
    assert result.text == "Pumps\nhttps://example.org/a\nAll of them.\n\nMore\nhttps://example.org/b\nOthers."
    assert engine.asked == ["/search?q=cold+pumps&region=at-de&time=m"]


async def test_ddgs_looks_for_forums_by_their_addresses(call: Any, engine: Web) -> None:
    await call("web_search", {"query": "pumps", "kind": "social media"}, web_search="ddgs")
    await call("web_search", {"query": "pumps site:lemmy.world", "kind": "social media"}, web_search="ddgs")
    assert "site%3Areddit.com+OR+site%3Astackexchange.com" in engine.asked[0]
    assert engine.asked[1] == "/search?q=pumps+site%3Alemmy.world&region=us-en&time="


@pytest.mark.parametrize("page", [Page(b"<ul></ul>"), Page(b"", status=429)])
async def test_engines_without_a_result_may_have_refused(call: Any, engine: Web, page: Page) -> None:
    engine.pages["/search"] = page
    result = await call("web_search", {"query": "pumps"}, web_search="ddgs")
    assert result.text == "Nothing was found. Or the search engines refused to answer; try again later."


async def test_ddgs_asks_only_the_chosen_engines(call: Any, engine: Web) -> None:
    chosen: dict[str, Any] = {"web_search": "ddgs", "web_search_engines": ("nobody",)}
    with pytest.raises(ToolError, match=r"None of nobody .* searches for text; there are local\."):
        await call("web_search", {"query": "pumps"}, **chosen)
    assert engine.asked == []
    chosen["web_search_engines"] = ("nobody", "local")
    assert "example.org" in (await call("web_search", {"query": "pumps"}, **chosen)).text


@pytest.mark.parametrize(
    ("settings", "engine"),
    [
        ({}, "off"),
        ({"web_search_url": "http://127.0.0.1:8888/search"}, "searxng"),
        ({"web_search_url": "http://127.0.0.1:8888/search", "web_search": "searxng"}, "searxng"),
        ({"web_search_url": "http://127.0.0.1:8888/search", "web_search": "ddgs"}, "ddgs"),
        ({"web_search_url": "http://127.0.0.1:8888/search", "web_search": "off"}, "off"),
    ],
)
def test_an_address_alone_means_searxng(settings: dict[str, Any], engine: str) -> None:
    chosen = ToolSettings(**settings)
    assert chosen.search_engine == engine
    unavailable = ToolRegistry.discover().get("web_search").card.unavailable(chosen)
    assert ("No search engine is set" in unavailable) == (engine == "off")


def test_searxng_needs_an_address() -> None:
    with pytest.raises(ValidationError, match="web_search_url"):
        ToolSettings(web_search="searxng")

"""Local web pages: a SearXNG endpoint, a page that needs JavaScript, a forum and a PDF.

with small_web(folder) as web:
    candor = make_candor(tools=tools_for(web))
    enable_all(candor)

``ToolModel`` plays the agents that search this web, and those that calculate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from api.bootstrap import Candor
from api.services.catalog.agents import AgentChanges
from multi_agent.settings.tools import ToolSettings
from support.browser import find_chromium
from support.files import write_pdf
from support.handyman import TURN, done
from support.panel import TRIAGE, Panel, role_of, triage
from support.replies import Reply, Request
from support.waiting import LIMIT_S
from support.web import Page, Web

WEIGHT = "The Borea 12 weighs 120 kg."
OPINION = "Mine froze at -20 last winter."
NOISE = "The Borea 12 makes 38 decibels."
_APP = b"<html><head><title>Borea</title></head><body><div id=app></div><script src=/app.js></script></body></html>"


@contextmanager
def small_web(folder: Path) -> Iterator[Web]:
    """Serve the pages. ``folder`` is a place for a temporary file."""
    with Web() as web:
        _publish(web, folder)
        yield web


def _publish(web: Web, folder: Path) -> None:
    web.pages["/app"] = Page(_APP)
    web.pages["/app.js"] = Page(b"fetch('/data.json').then(r => r.json()).then(d => { app.textContent = d.text })",
                                "text/javascript")  # fmt: skip
    web.pages["/data.json"] = Page(json.dumps({"text": WEIGHT}).encode(), "application/json")
    web.pages["/thread"] = Page(f"<title>Borea in winter</title><p>anna: {OPINION}</p><p>bert: Not mine.</p>".encode())
    pdf = write_pdf(folder / "noise.pdf", parts=["A report.", ("page",), NOISE])
    web.pages["/noise.pdf"] = Page(pdf.read_bytes(), "application/pdf")
    found = [{"url": web.url(path), "title": path, "content": "About pumps."} for path in ("/app", "/thread")]
    web.pages["/search"] = Page(json.dumps({"results": found}).encode(), "application/json")


def tools_for(web: Web) -> ToolSettings:
    """Return settings that search ``web`` and read its pages, with Chromium where they need JavaScript."""
    return ToolSettings(
        web_search_url=web.url("/search"), allow_private_addresses=True, browser_path=find_chromium(),
        timeout_s=LIMIT_S,
    )  # fmt: skip


def enable_all(candor: Candor) -> None:
    """Enable the agents that are off by default."""
    for agent in ("WebResearcher", "ForumResearcher", "Utility"):
        candor.agents.change(agent, AgentChanges(enabled=True))


def search(query: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """Return a call of the WebResearcher's search."""
    return "web_search", {"query": query, "source_type": "official", **more}


class ToolModel:
    """A scripted model. A test sets its rounds of tool calls, and what it points at in the results."""

    def __init__(self) -> None:
        self.turns: list[str] = []
        self.quote, self.agent = "", "WebResearcher"
        self.answers: dict[str, str] = {}

    def __call__(self, request: Request) -> Reply | str:
        roles = {TRIAGE: lambda asked: json.dumps(triage(asked, agent=self.agent)), TURN: self._turn}
        if role_of(request) in self.answers:
            return self.answers[role_of(request)]
        return Panel(self.quote, roles=roles)(request)

    def _turn(self, request: Request) -> str:
        taken = sum(message["role"] == "assistant" for message in request.messages)
        return self.turns[taken] if taken < len(self.turns) else done()

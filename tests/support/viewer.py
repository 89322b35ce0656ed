"""The service for the viewer tests: its documents, and a model that each test can replace."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from api.bootstrap import Candor
from api.settings import Settings
from support.panel import Panel
from support.replies import Reply, Request, Responder, delayed
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService, with_service
from vectorstore.embedding.embedder import Embedder

HOSTILE = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
COLD = "It works down to -25 °C without a heater."
WARRANTY = "Its warranty is seven years."
SOUND = "Its sound level is 52 decibels at one metre."
QUESTION = "How cold may it get outside?"
OpenPage = Callable[..., Page]
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
RULES = {
    "runOnly": {"type": "tag", "values": TAGS},
    "rules": {
        "label-content-name-mismatch": {"enabled": True},
        "color-contrast": {"enabled": False},  # the fonts of the test machine decide on it
    },
}
DOCUMENTS = {
    # Characters of two UTF-16 units come before the quotes: spans are counted in characters.
    "pump.md": "# The Borea 12 🌡️🔥\n\n" + "The pump is quiet. " * 40 + f"\n\n{COLD}\n\n{WARRANTY}\n",
    "manual.txt": f"The compressor {HOSTILE} comes from Graz.\n",
}


class Site:
    """The service with its data folder. ``responder`` plays the model and can be replaced at any time."""

    def __init__(self, home: Path, embedder: Embedder) -> None:
        self.responder: Responder = Panel()
        self.endpoint = ScriptedEndpoint(self._respond)
        self._home, self._embedder = home, embedder
        self._port = 0

    def start(self, **settings: Any) -> None:
        """Start the service with these settings. A restart uses the same port."""
        given = Settings(home=self._home, **{"llm": self.endpoint.settings("openai"), **settings})
        self.candor = Candor(with_service(given, research_process=True))
        self.candor.embedder = self._embedder
        self._service = RunningService(self.candor, self._port).__enter__()
        self.url = f"{self._service.url}/"
        self._port = int(self._service.url.rpartition(":")[2])

    def stop(self) -> None:
        """Stop the service, as Ctrl-C does."""
        self._service.__exit__()

    def _respond(self, request: Request) -> Reply | str:
        return self.responder(request)


def open_options(page: Page) -> None:
    """Open the fold with the options of a question."""
    options = page.locator("details.options")
    if options.get_attribute("open") is None:
        options.locator("summary").click()


def ask(page: Page, question: str = QUESTION, mode: str = "high") -> None:
    """Start a conversation with this question, of "pumps" unless a collection is chosen.

    Without a mode, the chosen one stays.
    """
    form = page.get_by_role("textbox", name="Question")
    expect(form.or_(page.get_by_role("link", name="New conversation"))).to_be_visible()
    if not form.is_visible():
        page.get_by_role("link", name="New conversation").click()
    expect(form).to_be_visible()
    collection = page.locator("select[name=collection]")
    if not collection.input_value():
        collection.select_option("pumps")
    open_options(page)
    page.get_by_role("textbox", name="Question").fill(question)
    if mode:
        page.locator("select[name=mode]").select_option(mode)
    page.get_by_role("button", name="Ask", exact=True).click()


def confirm(page: Page, label: str, name: str = "") -> None:
    """Press the button with this label in the dialog, which may ask for a name."""
    if name:
        page.get_by_role("dialog").get_by_role("textbox").fill(name)
    page.get_by_role("dialog").get_by_role("button", name=label, exact=True).click()


def answered(page: Page) -> None:
    """Ask, and wait for the answer."""
    ask(page)
    expect(page.get_by_role("region", name="Answer", exact=True)).to_be_visible()
    expect(page.locator(".live .badge").first).to_have_text("answered")


def slow(role: str, seconds: float) -> dict[str, Callable[[Request], Reply | str]]:
    """Return a role of the panel that responds with a delay."""
    return {role: lambda request: delayed(json.dumps(Panel("-25 °C").play(request)), seconds)}


def violations(page: Page) -> list[str]:
    """Return what axe finds: the rule and the elements."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found: dict[str, Any] = axe.run(page, options=RULES).response
    return [f"{each['id']}: {[node['target'] for node in each['nodes']]}" for each in found["violations"]]

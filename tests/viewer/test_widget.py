"""The box for questions on a page of another site, in Chromium: it asks, cites, and says what goes wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from api.auth.keys import KeyRequest
from support.panel import Panel
from support.replies import Reply
from support.viewer import HOSTILE, SOUND, OpenPage, Site, violations

QUESTION = "How loud is it?"
POLICY = "default-src 'none'; script-src {url} 'unsafe-eval'; connect-src {url}"  # axe is evaluated


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    """The origin of another site, which serves the files of ``tmp_path``."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Host:
    """A page of another site with the box, and what a visitor does there."""

    def __init__(self, open_page: OpenPage, site: Site, folder: Path, origin: str) -> None:
        self.open_page, self.site, self.folder, self.origin = open_page, site, folder, origin

    def key(self, origin: str = "", **fields: Any) -> str:
        wanted = {"name": "box", "rights": {"pumps": "ask"}, "origins": [origin or self.origin], **fields}
        return self.site.candor.keys.add(KeyRequest.model_validate(wanted)).secret

    def open(self, key: str, attributes: str = "", html: str = 'lang="en"', **options: Any) -> Page:
        url = self.site.url.rstrip("/")
        (self.folder / "index.html").write_text(
            f"<!doctype html><html {html}><meta charset=utf-8><title>Shop</title>"
            f"<meta name=viewport content='width=device-width'>"
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(url=url)}">'
            f"<main><h1>Our pumps</h1><p>Text of the shop.</p></main>"
            f'<script src="{url}/widget.js" data-key="{key}" {attributes} defer></script></html>',
            encoding="utf-8",
        )
        return self.open_page(at=f"{self.origin}/", **options)


@pytest.fixture
def host(open_page: OpenPage, site: Site, tmp_path: Path, origin: str) -> Host:
    site.responder = Panel("52 decibels")
    return Host(open_page, site, tmp_path, origin)


def ask(page: Page, question: str = QUESTION) -> Locator:
    """Ask in the box, and return the entry of the question."""
    if page.get_by_role("button", name="Ask a question").is_visible():
        page.get_by_role("button", name="Ask a question").click()
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    return page.locator("article").filter(has_text=question).last


def test_an_answer_shows_the_quote_its_document_and_page(host: Host) -> None:
    page = host.open(host.key(), 'data-collection="pumps"')
    entry = ask(page)
    expect(entry).to_contain_text("Answered · ")
    expect(entry.locator("blockquote")).to_have_text(f"“{SOUND}”")
    expect(entry.locator(".quotes")).to_contain_text("[1] sheet.pdf, page 1")
    entry.get_by_role("button", name="[1]").click()
    expect(entry.locator(".quotes li")).to_be_focused()
    assert violations(page) == []
    assert page.locator("body").evaluate("each => !each.innerText.includes('decibels')"), (
        "the shadow root has the answer"
    )


def test_the_keyboard_opens_asks_and_closes(host: Host) -> None:
    page = host.open(host.key())
    opener = page.get_by_role("button", name="Ask a question")
    page.keyboard.press("Tab")
    expect(opener).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("Answered")
    expect(page.get_by_label("Your question")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(opener).to_be_focused()
    opener.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("Answered")


def test_words_of_documents_and_models_are_text(host: Host) -> None:
    host.site.responder = Panel("comes from Graz")
    page = host.open(host.key())
    entry = ask(page, "<b>Where</b> is the compressor from?")
    expect(entry.locator("blockquote")).to_contain_text(HOSTILE)
    assert page.title() == "Shop"
    assert entry.locator("script, img, b b").count() == 0


def test_what_is_missing_is_said(host: Host) -> None:
    host.site.responder = Panel("no such words")
    entry = ask(host.open(host.key()))
    expect(entry).to_contain_text("Not answered by the documents")
    expect(entry.locator("blockquote")).to_have_count(0)
    expect(entry).not_to_contain_text("broken.pdf")


def test_an_unclear_question_offers_choices(host: Host) -> None:
    """A click on a choice asks its question."""
    candidate = {"question": QUESTION, "document": "sheet.pdf", "quote": SOUND}
    answer = {
        "status": "needs_clarification", "basis": "", "layout": "prose", "statements": [], "short": "", "nearest": "",
        "missing": [], "citations": [],
        "clarification": {
            "question": "Which?", "candidates": [{"name": "Borea 12", **candidate}, {"name": "Zephyr", **candidate}]
        },
    }  # fmt: skip
    page = host.open(host.key())
    body = f"event: answer\ndata: {json.dumps(answer)}\n\n"
    headers = {"Access-Control-Allow-Origin": host.origin, "Content-Type": "text/event-stream"}
    page.route("**/v1/research", lambda route: route.fulfill(body=body, headers=headers), times=1)
    entry = ask(page, "And how loud?")
    expect(entry).to_contain_text("What do you mean?")
    expect(entry.get_by_role("button")).to_have_text(["Borea 12", "Zephyr"])
    entry.get_by_role("button", name="Zephyr").click()
    expect(page.locator("article").last.locator("blockquote")).to_have_text(f"“{SOUND}”")


def test_a_page_of_another_origin_is_refused(host: Host) -> None:
    host.key()
    entry = ask(host.open(host.key(origin="https://example.org")))
    expect(entry).to_contain_text("This page may not ask here.")
    host.key(origin="https://example.org")
    unlisted = Host(host.open_page, host.site, host.folder, host.origin.replace("127.0.0.1", "localhost"))
    entry = ask(unlisted.open(host.key()))
    expect(entry).to_contain_text("There is no connection, or this page may not ask here.")
    assert host.site.candor.keys.origins() >= {host.origin, "https://example.org"}


def test_a_revoked_key_and_a_limit_are_said(host: Host) -> None:
    spent = ask(host.open(host.key(limits={"requests_per_day": 1})))
    expect(spent).to_contain_text("Answered")
    page = spent.page
    expect(ask(page, "And again?")).to_contain_text("Too many questions.")
    key = host.key()
    page = host.open(key)
    host.site.candor.keys.revoke(key.split("_")[1])
    expect(ask(page)).to_contain_text("This page may not ask here.")


def test_a_model_that_is_down_is_said_without_its_reason(host: Host) -> None:
    host.site.responder = lambda _: Reply(status=400, raw="secret reason")
    page = host.open(host.key())
    entry = ask(page)
    expect(entry).to_contain_text("No answer is possible now.")
    expect(entry).not_to_contain_text("secret")


def test_a_lost_connection_gets_the_answer_of_the_same_run(host: Host) -> None:
    key = host.key()
    page = host.open(key)
    ids: list[str] = []

    def lose(route: Any) -> None:
        ids.append(route.request.headers["idempotency-key"])
        route.abort()

    page.route("**/v1/research", lose, times=1)
    page.on("request", lambda sent: ids.append(sent.headers.get("idempotency-key", "")))
    entry = ask(page)
    expect(entry).to_contain_text("There is no connection")
    entry.get_by_role("button", name="Try again").click()
    expect(entry.locator("blockquote")).to_have_text(f"“{SOUND}”")
    assert len(set(filter(None, ids))) == 1


def test_texts_theme_and_direction_are_those_of_the_page(host: Host) -> None:
    texts = 'data-title="اسأل" data-placeholder="سؤالك" data-answered="تمت الإجابة" data-basis="" data-theme="dark"'
    page = host.open(host.key(), texts, html='lang="ar" dir="rtl"')
    opener = page.get_by_role("button", name="اسأل")
    box = opener.bounding_box()
    assert box
    assert box["x"] < 100, "at the end of the line, which is left"
    opener.click()
    page.get_by_label("سؤالك").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator("article p").first).to_have_text("تمت الإجابة")
    ground = page.get_by_role("dialog").evaluate("each => getComputedStyle(each).backgroundColor")
    assert ground != "rgb(255, 255, 255)"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_box_fits_the_window(host: Host, width: int) -> None:
    page = host.open(host.key(), viewport={"width": width, "height": 800})
    entry = ask(page)
    expect(entry.locator("blockquote")).to_be_visible()
    panel = page.get_by_role("dialog").bounding_box()
    assert panel
    assert panel["x"] >= 0
    assert panel["x"] + panel["width"] <= width
    assert panel["width"] == (width if width < 480 else 400)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_file_is_small() -> None:
    assert (Path(__file__).parents[2] / "api" / "viewer" / "widget.js").stat().st_size <= 8000

"""Draft answers: claims appear while the answer is being written, with evidence that opens."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from support.panel import READING, SYNTHESIS, Panel
from support.replies import Reply, Request, held_up
from support.viewer import COLD, HOSTILE, WARRANTY, OpenPage, Site, ask

PANEL = Panel("-25 °C", "seven years")
RED = {"text": "It is red.", "quotes": [{"passage": 1, "quote": "The pump is red.", "shows": "colour"}]}


@pytest.fixture
def resume() -> Iterator[threading.Event]:
    """Event that lets the model continue. Set at the end of the test in any case."""
    event = threading.Event()
    yield event
    event.set()


def writing(page: Page) -> Locator:
    return page.get_by_role("region", name="Answer being written")


def written(page: Page) -> Locator:
    return page.get_by_role("region", name="Answer", exact=True)


def top_left(answer: Locator) -> tuple[float, float]:
    """Return the position of the first claim."""
    box = answer.locator(".claim").first.bounding_box()
    assert box
    return box["x"], box["y"]


def held(resume: threading.Event, after: float = 0.5) -> Callable[[Request], Reply]:
    return lambda request: held_up(json.dumps(PANEL.play(request)), resume, after)


def test_evidence_opens_while_the_answer_is_being_written(
    open_page: OpenPage, site: Site, resume: threading.Event
) -> None:
    site.responder = Panel("-25 °C", "seven years", roles={SYNTHESIS: held(resume)})
    page = open_page()
    ask(page)
    claim = re.compile(rf"^It says so: pump\.md \(.*\): {re.escape(COLD)} \[1\](not checked)? $")
    expect(writing(page).locator(".claim")).to_have_text([claim])
    expect(page.locator(".live .badge").first).to_have_text("running")
    mark = writing(page).get_by_role("button", name="[1]")
    expect(mark).to_have_attribute("title", "pump.md")
    mark.click()
    expect(page.locator("#panel mark.current")).to_have_text(COLD)
    position = top_left(writing(page))

    resume.set()
    expect(written(page).locator(".claim").nth(1)).to_contain_text(WARRANTY)
    expect(writing(page)).to_have_count(0)
    assert top_left(written(page)) == position, "the claim has not moved"
    expect(page.locator("#panel mark.current")).to_have_text(COLD)


def test_a_draft_claim_without_its_quote_is_unsupported(
    open_page: OpenPage, site: Site, resume: threading.Event
) -> None:
    def read(request: Request) -> Reply:
        answer = PANEL.play(request)
        return held_up(json.dumps({**answer, "short": "", "claims": [RED, *answer["claims"]]}), resume, 0.75)

    site.responder = Panel(roles={READING: read})
    page = open_page()
    ask(page, mode="fast")
    claims = writing(page).locator(".claim")
    expect(claims.first).to_have_text("It is red. unsupported ")
    expect(claims.first.locator(".mark")).to_have_attribute("title", "Sentence not found: [999]")
    expect(claims.nth(1)).to_contain_text(COLD)
    resume.set()
    expect(written(page).locator(".claim").first).to_have_text("It is red. unsupported ")


def test_withdrawn_claims_disappear(open_page: OpenPage, site: Site, resume: threading.Event) -> None:
    def write_wrongly(request: Request) -> Reply:
        return held_up(json.dumps({**PANEL.play(request), "sufficient": "perhaps"}), resume, 0.5)

    tries = iter([write_wrongly, held(resume)])
    site.responder = Panel("-25 °C", "seven years", roles={SYNTHESIS: lambda request: next(tries)(request)})
    page = open_page()
    ask(page)
    expect(writing(page).locator(".claim").first).to_be_visible()
    resume.set()
    expect(written(page).locator(".claim")).to_have_count(2)
    page.get_by_role("link", name="Full trace").click()
    page.get_by_role("searchbox", name="Search this run").fill("draft_withdrawn")
    expect(page.locator(".event.draft_withdrawn")).to_contain_text("claims withdrawn")


def test_markup_in_a_claim_is_shown_as_text(open_page: OpenPage, site: Site, resume: threading.Event) -> None:
    def write(request: Request) -> Reply:
        claims = [{"text": HOSTILE, "evidence": []}, {"text": "More.", "evidence": []}]
        return held_up(json.dumps({**PANEL.play(request), "claims": claims}), resume, 0.95)

    site.responder = Panel("-25 °C", roles={SYNTHESIS: write})
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    ask(page)
    expect(writing(page).locator(".claim").first).to_contain_text(HOSTILE)
    assert page.title() == "Candor"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

"""What the viewer shows while a model works: the time, the estimate, and the passages found so far."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from support.panel import PLANNER, SYNTHESIS, Panel
from support.replies import Reply, Request, hang, held_up
from support.viewer import QUESTION, OpenPage, Site, answered, ask, slow

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def resume() -> Iterator[threading.Event]:
    """Event that lets the model continue. Set at the end of the test in any case."""
    event = threading.Event()
    yield event
    event.set()


def held(resume: threading.Event) -> Callable[[Request], Reply]:
    return lambda request: held_up(json.dumps(Panel("-25 °C").play(request)), resume, 0.5)


def results(page: Page) -> Locator:
    return page.locator("#panel")


def test_passages_are_one_key_away_before_the_plan_is_made(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel(roles={PLANNER: lambda _: hang()})
    page = open_page()
    page.get_by_role("textbox", name="Question").fill(QUESTION)
    page.keyboard.press("Control+Enter")
    button = page.get_by_role("button", name="passages found")
    expect(button).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("s")
    expect(results(page).get_by_role("heading", name="Search results")).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(results(page).locator("h3")).to_have_text(QUESTION)
    results(page).get_by_role("button").filter(has_text="pump.md").first.click()
    expect(results(page).locator("mark.current").last).to_contain_text("The pump is quiet.")
    expect(results(page).get_by_role("heading", name=re.compile("Passage"))).to_be_visible()
    page.keyboard.press("s")
    expect(results(page).get_by_role("heading", name="Search results")).to_be_visible()
    page.keyboard.press("s")
    expect(results(page)).to_be_hidden()
    expect(button).to_have_attribute("aria-expanded", "false")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".live .badge").first).to_have_text("cancelled")
    page.keyboard.press("s")
    expect(results(page).get_by_role("heading", name="Search results")).to_be_visible()


def test_a_passage_of_a_pdf_opens_on_its_page(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "How loud is the pump in the cellar, in decibels?")
    page.get_by_role("button", name="passages found").click()
    results(page).get_by_role("button").filter(has_text="sheet.pdf, pages 1–2").first.click()
    expect(results(page).locator("canvas")).to_have_attribute("aria-label", "Page 1")
    expect(results(page).locator(".box.current").first).to_be_visible()


def test_the_call_in_progress_counts_against_its_estimate(
    open_page: OpenPage, site: Site, resume: threading.Event
) -> None:
    site.responder = Panel("-25 °C", roles=slow(SYNTHESIS, 4))
    page = open_page()
    answered(page)
    site.responder = Panel("-25 °C", roles={SYNTHESIS: held(resume)})
    ask(page)
    line = page.get_by_role("timer")
    expect(line).to_contain_text("Synthesizer asks scripted")
    expect(line).to_contain_text(re.compile(r"about .* left|longer than usual"))
    expect(line).to_contain_text("tokens/s")
    expect(line).to_contain_text(re.compile(r"[2-9] s"))
    expect(line.get_by_role("progressbar")).to_have_attribute("aria-label", re.compile("estimate"))
    page.get_by_role("link", name="Full trace").click()
    expect(page.get_by_role("timer")).to_contain_text("Synthesizer asks scripted")
    resume.set()
    expect(page.get_by_role("timer")).to_have_count(0)


def test_the_panel_gives_the_focus_back_to_the_button(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("button", name="passages found").press("Enter")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="passages found")).to_be_focused()


def test_on_a_phone_the_search_results_cover_the_page(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel(roles={PLANNER: lambda _: hang()})
    page = open_page(**PHONE)
    ask(page)
    page.get_by_role("button", name="passages found").tap()
    expect(results(page).locator(".source").first).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Close").tap()
    expect(page.get_by_role("timer")).to_contain_text("Planner asks scripted")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Cancel").tap()
    expect(page.locator(".live .badge").first).to_have_text("cancelled")

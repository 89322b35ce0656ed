"""All pages work by keyboard and fit a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from support.viewer import COLD, OpenPage, Site, answered

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def test_evidence_is_reached_by_keyboard(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.get_by_role("textbox", name="Question")).to_be_focused()
    page.keyboard.type("How cold may it get outside?")
    page.keyboard.press("Control+Enter")
    answer = page.get_by_role("region", name="Answer", exact=True)
    expect(answer).to_be_visible()
    answer.locator(".mark").first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/1$"))  # the panel is open before, without an address
    panel = page.locator("#panel")
    expect(panel.locator("mark.current")).to_have_text(COLD)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next or previous quote")
    page.keyboard.press("Enter")
    page.keyboard.press("/")
    expect(page.get_by_role("textbox", name="Ask further")).to_be_focused()


def test_the_first_tab_stop_skips_to_the_content(open_page: OpenPage) -> None:
    page = open_page("runs")
    expect(page.get_by_role("searchbox")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("main :focus")).to_be_visible()


@pytest.mark.parametrize(
    "path", ["", "search", "runs", "documents", "tables", "evaluations", "agents", "memory", "keys", "nowhere"]
)
def test_no_page_is_wider_than_a_phone(open_page: OpenPage, site: Site, path: str) -> None:
    page = open_page(path, **PHONE)
    expect(page.locator("main")).not_to_contain_text("Loading")
    expect(page.locator("main *").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_long_select_fits_its_form_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("evaluations", **PHONE)
    judge, start = page.get_by_label("Judge"), page.get_by_role("button", name="Start")
    expect(judge).to_be_visible()
    chosen, widest = judge.bounding_box(), start.bounding_box()
    assert chosen
    assert widest
    assert chosen["x"] + chosen["width"] <= widest["x"] + widest["width"] + 1


def test_a_run_with_its_step_fits_a_phone(open_page: OpenPage) -> None:
    page = open_page(**PHONE)
    answered(page)
    page.goto(page.url.replace("/ask/", "/runs/") + "/steps/extract")
    expect(page.locator("#panel .diff")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.querySelector('#panel').scrollWidth") <= 390
    page.get_by_role("button", name="Close").tap()
    expect(page.locator(".graph a").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

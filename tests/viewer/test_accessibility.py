"""Accessibility: the rules of axe on every page, headings, and the sizes of targets on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from support.viewer import OpenPage, Site, answered, violations

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PAGES = (
    "",
    "search",
    "runs",
    "documents",
    "tables",
    "evaluations",
    "approvals",
    "settings",
    "agents",
    "memory",
    "models",
    "keys",
    "no",
)
SMALL = """() => {
    const targets = ['main a', 'main button', 'main select', 'main summary', 'main input', 'header a', 'header button'];
    return [...document.querySelectorAll([...targets, 'nav a'].join())]
        .filter((each) => each.checkVisibility() && !each.closest('.hidden, .call, .skip, svg, label.check'))
        .map((each) => [each.textContent || each.name, each.getBoundingClientRect()])
        .filter(([, {width, height}]) => width && (width < 24 || height < 24))
        .map(([name, {width, height}]) => `${name}: ${width} x ${height}`);
}"""


def settled(page: Page) -> None:
    expect(page.locator("main")).not_to_contain_text("Loading")
    expect(page.locator("main h1").first).to_be_attached()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_follows_the_rules(open_page: OpenPage, site: Site, path: str) -> None:
    page = open_page(path)
    settled(page)
    assert violations(page) == []


def test_a_run_and_its_evidence_follow_the_rules(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    assert violations(page) == []
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator(".graph a").first).to_be_visible()
    assert violations(page) == []
    page.goto(f"{page.url}/steps/extract")
    expect(page.locator("#panel .diff")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("path", PAGES)
def test_targets_on_a_phone_are_large_enough(open_page: OpenPage, site: Site, path: str) -> None:
    page = open_page(path, **PHONE)
    settled(page)
    assert page.evaluate(SMALL) == []


def test_all_of_the_navigation_is_reached_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("keys", **PHONE)
    settled(page)
    for name in (
        "Ask",
        "Search",
        "Runs",
        "Documents",
        "Tables",
        "Evaluations",
        "Approvals",
        "Settings",
        "Agents",
        "Memory",
        "Keys",
    ):
        link = page.get_by_role("navigation").get_by_role("link", name=name, exact=True)
        expect(link).to_be_in_viewport(ratio=1)
        box = link.bounding_box()
        assert box
        assert box["x"] + box["width"] <= 390


def test_a_run_on_a_phone_has_large_enough_targets(open_page: OpenPage) -> None:
    page = open_page(**PHONE)
    answered(page)
    assert page.evaluate(SMALL) == []
    page.get_by_role("link", name="Full trace").click()
    expect(page.locator(".graph a").first).to_be_visible()
    assert page.evaluate(SMALL) == []

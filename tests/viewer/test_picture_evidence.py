"""Picture evidence opens its page with the region outlined. It is never shown as a quote."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, Route, expect

from support.panel import Panel
from support.viewer import OpenPage, Site, answered


def show_as_read_in_picture(page: Page, region: list[float] | None) -> None:
    """Replace the evidence of the answer with words that a model read in the picture of page 1."""

    def turned(route: Route) -> None:
        response = route.fetch()
        run: dict[str, Any] = response.json()
        if answer := run["answer"]:
            answer["evidence"][0] |= {"picture": {"page": 1, "region": region}, "quote": "52 dB", "start": 0, "end": 0}
            answer["claims"][0]["pictured"] = True
        route.fulfill(response=response, json=run)

    page.route(re.compile(r"/v1/runs/run_[0-9a-f]+$"), turned)


def test_the_region_is_outlined_on_its_page(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("52 decibels")
    page = open_page()
    show_as_read_in_picture(page, [0.1, 0.2, 0.6, 0.4])
    answered(page)
    expect(page.locator(".claims")).to_contain_text("from a picture")
    expect(page.locator(".sources")).to_contain_text("read from its picture, not verified")
    page.locator(".claims button.mark").first.click()
    panel = page.locator("#panel")
    expect(panel).to_contain_text("A model read this in the picture of page 1. It is not verified.")
    expect(panel).to_contain_text("52 dB")
    expect(panel.locator("blockquote")).to_have_count(0)
    box = panel.locator(".box.region.current")
    expect(box).to_be_in_viewport()
    expect(box).to_have_attribute("style", "left: 10%; top: 20%; width: 50%; height: 20%;")
    expect(panel.get_by_role("button", name="Text", exact=True)).to_have_count(0)


def test_evidence_without_a_region_opens_the_page(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("52 decibels")
    page = open_page()
    show_as_read_in_picture(page, None)
    answered(page)
    page.locator(".claims button.mark").first.click()
    panel = page.locator("#panel")
    expect(panel).to_contain_text("The model did not state the position on this page.")
    expect(panel.locator("canvas")).to_be_visible()
    expect(panel.locator(".box")).to_have_count(0)

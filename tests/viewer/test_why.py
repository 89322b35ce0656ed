"""Why this answer: what was searched, found, read, used and refused; passages by name in the trace."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from support.panel import EXTRACTION, Panel
from support.viewer import COLD, OpenPage, Site, answered, violations


def test_the_view_says_what_was_searched_used_and_left(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    page.locator("summary").filter(has_text="Why this answer").click()
    why = page.locator("details[data-key='why-answer']")
    expect(why.locator(".values q").filter(has_text="the fact").first).to_be_visible()
    used = why.locator("details[data-key='why used']")
    expect(used.locator("summary")).to_have_text("Used in the answer: 1 passage")
    expect(used.locator(".where")).to_contain_text("pump.md")
    expect(used.locator(".where")).to_contain_text("[1]")
    left = why.locator("details[data-key='why read']")
    left.locator("summary").click()
    expect(left.locator(".where").filter(has_text="manual.txt")).to_contain_text("rank ")
    assert violations(page) == []
    left.locator(".source").first.click()
    expect(page.locator("#panel blockquote")).to_be_visible()


def test_a_refused_quote_is_named_with_its_reason(open_page: OpenPage, site: Site) -> None:
    item = {"passage": "pump.md", "quote": COLD, "shows": "it"}
    invented = {"sentences": [999], "shows": "what no sentence says"}
    site.responder = Panel("-25 °C", roles={EXTRACTION: lambda request: json.dumps({"items": [item, invented]})})
    page = open_page()
    answered(page)
    page.locator("summary").filter(has_text="Why this answer").click()
    expect(page.locator("details[data-key='why-answer'] .rejected").first).to_contain_text("999")


def test_the_trace_names_passages_instead_of_ids(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    answered(page)
    page.goto(page.url.replace("/ask/", "/runs/") + "/steps/find")
    panel = page.locator("#panel")
    panel.locator("summary").filter(has_text="ranking").click()
    entries = panel.locator("details[data-key$='ranking'] .values > li")
    expect(entries.filter(has_text="pump.md").first).to_be_visible()
    run = site.candor.trace.answer(page.url.split("/runs/")[1].split("/")[0])
    expect(panel).not_to_contain_text(run.evidence[0].chunk_id)

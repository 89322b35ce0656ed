"""The page of one document: its content, search within it, its passages, and the runs that cite it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from api.cli.ingest import run_ingest
from support.panel import Panel
from support.viewer import COLD, HOSTILE, SOUND, WARRANTY, OpenPage, Site, answered


def find(page: Page, words: str) -> None:
    page.get_by_label("Find in this document").fill(words)
    page.get_by_role("button", name="Find", exact=True).click()


def test_a_document_opens_by_its_name_with_state_and_facts(open_page: OpenPage, site: Site) -> None:
    page = open_page("documents/pumps")
    page.get_by_role("link", name="pump.md").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("pump.md")
    expect(page.locator(".facts .badge")).to_have_text("indexed")
    text = page.get_by_role("region", name="Text of the document")
    expect(text).to_contain_text(COLD)
    expect(text.locator(".heading")).to_have_text("The Borea 12 🌡️🔥")
    page.get_by_text("Facts and file").click()
    expect(page.locator(".fields")).to_contain_text("text/markdown")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save original").click()
    assert download.value.suggested_filename == "pump.md"
    page.get_by_role("link", name="Documents in pumps").click()
    expect(page.get_by_role("region", name="Coverage")).to_be_visible()


def test_a_text_is_found_with_its_count_and_place(open_page: OpenPage, site: Site) -> None:
    page = open_page(f"documents/pumps/{site.candor.documents.find('pump.md', 'pumps').id}")
    find(page, "PUMP IS   quiet")
    found, bar = page.get_by_role("region", name="Found"), page.get_by_role("search")
    expect(bar).to_contain_text("1 of 40")
    expect(page.locator("mark.current")).to_have_text("pump is quiet")
    page.get_by_role("button", name="Previous place").click()
    expect(bar).to_contain_text("40 of 40")
    page.get_by_label("Find in this document").press("Enter")
    expect(bar).to_contain_text("1 of 40")
    page.get_by_label("Find in this document").press("Shift+Enter")
    expect(bar).to_contain_text("40 of 40")
    find(page, "absent")
    expect(found).to_contain_text("The document does not contain “absent”")


def test_passages_are_searched_by_meaning_and_listed(open_page: OpenPage, site: Site) -> None:
    page = open_page(f"documents/pumps/{site.candor.documents.find('sheet.pdf', 'pumps').id}")
    page.get_by_label("Find in this document").fill("How loud is it?")
    page.get_by_role("button", name="Search passages").click()
    hits = page.get_by_role("region", name="Found").locator(".source")
    expect(hits.filter(has_text=SOUND)).to_contain_text("page")
    page.locator("summary", has_text="passage").click()
    listed = page.locator("details .source").filter(has_text="120 kilograms")
    expect(listed).to_contain_text("page")
    listed.click()
    expect(page.locator(".page-bar").get_by_label("Page number")).to_be_visible()


def test_pages_are_shown_as_pictures_and_as_text(open_page: OpenPage, site: Site) -> None:
    sheet = site.candor.documents.find("sheet.pdf", "pumps").id
    page = open_page(f"documents/pumps/{sheet}/page/2")
    expect(page.get_by_role("img", name="Page 2")).to_be_visible()
    find(page, "52 decibels")
    expect(page.get_by_role("img", name="Page 1")).to_be_visible()
    expect(page.locator(".box.current")).to_be_in_viewport()
    page.get_by_role("button", name="Text", exact=True).click()
    expect(page.locator("mark.current")).to_have_text("52 decibels")
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("region", name="Text of page 2")).to_contain_text("120 kilograms")
    assert page.url.endswith(f"{sheet}/page/2")
    page.get_by_label("Page number").fill("1")
    page.get_by_role("button", name="Go").click()
    expect(page.get_by_role("region", name="Text of page 1")).to_contain_text(SOUND)


def test_printed_page_numbers_stand_beside_the_page_numbers(open_page: OpenPage, site: Site) -> None:
    report = Path(__file__).parents[1] / "ingest" / "cases" / "32-page-labels" / "q12_labels.pdf"
    run_ingest(site.candor, [report], "reports", progress=False)
    page = open_page(f"documents/reports/{site.candor.documents.find('q12_labels.pdf', 'reports').id}/page/3")
    bar = page.locator(".page-bar")
    expect(bar).to_contain_text("of 4 (printed 1)")
    page.get_by_label("Page number").fill("ii")
    page.get_by_role("button", name="Go").click()
    expect(bar).to_contain_text("of 4 (printed ii)")
    find(page, "fee is 42")
    expect(page.get_by_role("region", name="Found")).to_contain_text("Page 3 (printed 1)")
    page.get_by_role("button", name="Search passages").click()
    expect(page.get_by_role("region", name="Found").locator(".source")).to_contain_text("pages 1–4 (printed i to 2)")


def test_a_labelled_page_is_named_beside_a_quote(open_page: OpenPage, site: Site) -> None:
    report = Path(__file__).parents[1] / "ingest" / "cases" / "32-page-labels" / "q12_labels.pdf"
    run_ingest(site.candor, [report], "reports", progress=False)
    site.responder = Panel("42 EUR")
    page = open_page()
    page.locator("select[name=collection]").select_option("reports")
    answered(page)
    page.locator(".claims .mark").first.click()
    panel = page.locator("#panel")
    expect(panel.locator(".facts")).to_contain_text("page 3 (printed 1)")
    expect(panel.locator(".page-view")).to_contain_text("page 3 of 4 (printed 1)")


def test_answers_that_cite_a_document_lead_to_it_and_back(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("seven years")
    page = open_page()
    answered(page)
    page.locator(".claims .mark").first.click()
    page.locator("#panel").get_by_role("link", name="Open document").click()
    expect(page.get_by_role("heading", level=1, name="pump.md")).to_be_visible()
    expect(page.locator("mark.current")).to_have_text(WARRANTY)
    cited = page.get_by_role("region", name="Cited by")
    expect(cited.locator("li").first).to_contain_text(WARRANTY)
    cited.get_by_role("link", name="[1]").first.click()
    expect(page.locator("#panel mark.current")).to_have_text(WARRANTY)


def test_a_document_without_text_or_citations_says_so(open_page: OpenPage, site: Site) -> None:
    page = open_page(f"documents/pumps/{site.candor.documents.find('broken.pdf', 'pumps').id}")
    expect(page.locator(".failure")).to_contain_text("While parsing")
    expect(page.get_by_role("region", name="Cited by")).to_contain_text("No answer cites it yet.")
    expect(page.get_by_label("Find in this document")).to_have_count(0)
    missing = open_page("documents/pumps/none")
    expect(missing.get_by_role("alert")).to_contain_text("no document 'none'")


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_a_hostile_document_is_shown_as_text_at_every_width(open_page: OpenPage, site: Site, width: int) -> None:
    manual = site.candor.documents.find("manual.txt", "pumps").id
    page = open_page(f"documents/pumps/{manual}", viewport={"width": width, "height": 800})
    expect(page.get_by_role("region", name="Text of the document")).to_contain_text(HOSTILE)
    assert page.title() != "owned"
    assert page.evaluate("document.documentElement.scrollWidth") <= width

"""Search without a model: modes, filters, why a passage was found, and the passage in its document."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from support.viewer import COLD, SOUND, OpenPage, violations


def search(page: Page, words: str) -> None:
    collection = page.locator("select[name=collection]")
    if not collection.input_value():
        collection.select_option("pumps")
    page.get_by_role("searchbox", name="Search the passages").fill(words)
    page.get_by_role("button", name="Search", exact=True).click()


def test_a_hit_says_why_and_opens_in_its_document(open_page: OpenPage) -> None:
    page = open_page("search")
    search(page, "decibels")
    first = page.get_by_role("region", name="Found").get_by_role("listitem").first
    expect(first).to_contain_text("sheet.pdf, pages 1–2")
    expect(first.locator(".note")).to_contain_text("words: decibels · meaning 0.")
    first.get_by_role("button").click()
    panel = page.locator("#panel")
    expect(panel.locator("blockquote")).to_contain_text(SOUND)
    expect(panel.locator(".box.current").first).to_be_in_viewport()
    assert violations(page) == []


def test_the_mode_and_the_filter_decide_what_is_found(open_page: OpenPage) -> None:
    page = open_page("search")
    search(page, "loudness")
    found = page.get_by_role("region", name="Found")
    expect(found.get_by_role("listitem").first).to_be_visible()
    page.get_by_role("combobox", name="Search", exact=True).select_option("words")
    search(page, "loudness")
    expect(found).to_contain_text("No passage was found.")
    search(page, "pump")
    expect(found).to_contain_text("sheet.pdf")
    page.locator("summary").filter(has_text="Only some of the documents").click()
    page.get_by_label("Types").fill("md")
    search(page, "pump")
    expect(found).not_to_contain_text("sheet.pdf")
    expect(found.get_by_role("listitem").first).to_contain_text("pump.md")
    page.get_by_label("Types").fill("docx")
    search(page, "pump")
    expect(page.get_by_role("alert")).to_contain_text("docx")


def test_an_address_searches(open_page: OpenPage) -> None:
    page = open_page("search/pumps/heater")
    expect(page.get_by_role("region", name="Found")).to_contain_text(COLD)
    expect(page.get_by_role("searchbox", name="Search the passages")).to_have_value("heater")

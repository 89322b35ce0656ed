"""The documents of a collection, their states, and what becomes of them."""

from __future__ import annotations

from playwright.sync_api import expect

from support.viewer import OpenPage


def test_documents_are_listed_with_states_and_reasons(open_page: OpenPage) -> None:
    page = open_page("documents")
    broken = page.locator("tr").filter(has_text="broken.pdf")
    expect(broken.locator(".badge")).to_have_text("failed")
    expect(broken.locator(".reason")).to_contain_text("While ")
    page.get_by_role("button", name="indexed 3").click()
    expect(page.locator("tbody tr")).to_have_count(3)

"""The page of the bin lists deleted items, restores them and removes them permanently."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from api.cli.ingest import run_ingest
from support.viewer import OpenPage, Site, answered, confirm, violations

PHONE = {"width": 390, "height": 844}


def test_what_was_deleted_is_restored(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("Green tea steeps for two minutes.")
    (tmp_path / "bread.md").write_text("Bread rises for an hour.")
    run_ingest(site.candor, [tmp_path], "kitchen", progress=False)
    page = open_page("documents/kitchen")
    page.locator("tr").filter(has_text="tea.md").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("bin")
    confirm(page, "Delete")
    expect(page.locator("tr").filter(has_text="tea.md").locator(".badge")).to_have_text("removed")
    page.get_by_role("button", name="Delete collection").click()
    dialog = page.get_by_role("dialog", name="Delete collection?")
    expect(dialog.get_by_role("button", name="Delete collection")).to_be_disabled()  # until its name is written
    confirm(page, "Delete collection", "kitchen")
    expect(page.locator("select option").filter(has_text="kitchen")).to_have_count(0)
    page.goto(f"{site.url}#/bin")
    expect(page.locator("tbody tr")).to_have_count(2)
    assert not violations(page)
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    tea = page.locator("tbody tr").filter(has_text="tea.md")
    tea.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("alert")).to_contain_text("The collection 'kitchen' is in the bin.")
    page.locator("tbody tr").filter(has_not_text="tea.md").get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Restored: collection kitchen.")).to_be_visible()
    tea.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("The bin is empty")).to_be_visible()
    page.goto(f"{site.url}#/documents/kitchen")
    expect(page.locator("tr").filter(has_text="tea.md").locator(".badge")).to_have_text("indexed")


def test_a_run_is_deleted_and_removed_for_good(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    answered(page)
    page.goto(f"{site.url}#/runs")
    page.locator("a[href^='#/runs/']").first.click()
    page.get_by_role("button", name="Delete this run").click()
    confirm(page, "Delete this run")
    expect(page).to_have_url(f"{site.url}#/runs")
    page.goto(f"{site.url}#/bin")
    page.locator("tbody tr").first.get_by_role("button", name="Remove permanently").click()
    confirm(page, "Remove permanently")
    expect(page.get_by_text("The bin is empty")).to_be_visible()

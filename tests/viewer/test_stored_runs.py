"""Old runs are deleted in the page."""

from __future__ import annotations

from playwright.sync_api import expect

from support.viewer import OpenPage, Site, ask, confirm


def test_old_runs_are_deleted_in_the_settings(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    ask(page, "Is it old?", mode="fast")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.goto(f"{site.url}#/settings")
    runs = len(site.candor.trace.runs())
    expect(page.get_by_text(f"{runs} run")).to_be_visible()
    page.get_by_label("Older than (days)").fill("36500")
    page.get_by_role("button", name="Find old runs").click()
    expect(page.get_by_text("0 runs, 0 bytes")).to_be_visible()
    page.get_by_label("Older than (days)").fill("0")
    page.get_by_role("button", name="Find old runs").click()
    page.get_by_role("button", name="Delete them").click()
    confirm(page, "Delete them")
    expect(page.get_by_text("Moved to the bin: ")).to_be_visible()
    expect(page.get_by_text("0 runs, 0 bytes")).to_be_visible()
    assert site.candor.trace.runs() == []

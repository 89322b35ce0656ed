"""The list of runs and its filters."""

from __future__ import annotations

from playwright.sync_api import expect

from support.viewer import OpenPage, answered, ask


def test_runs_are_filtered_by_text_and_status(open_page: OpenPage) -> None:
    page = open_page()
    answered(page)
    ask(page, "Who makes the compressor?")
    expect(page.locator("h1.asked")).to_have_text("Who makes the compressor?")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.get_by_role("link", name="Runs").click()
    page.get_by_role("searchbox").fill("compressor")
    expect(page.locator(".runs li")).to_have_count(1)
    page.get_by_label("status").select_option("failed")
    expect(page.locator("main")).to_contain_text("No matching runs")


def test_a_very_long_question_is_truncated(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "How cold is it? " * 500)
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.get_by_role("link", name="Runs").click()
    first = page.locator(".runs li").first
    expect(first).to_contain_text("How cold is it?")
    box = first.bounding_box()
    assert box
    assert box["height"] < 200

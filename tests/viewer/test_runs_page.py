"""The list of runs, and what narrows it."""

from __future__ import annotations

from playwright.sync_api import expect

from support.viewer import OpenPage, answered, ask


def test_runs_are_found_by_the_words_of_their_question_and_by_state(open_page: OpenPage) -> None:
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


def test_a_question_as_long_as_a_book_leaves_room_for_the_others(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "How cold is it? " * 500)
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.get_by_role("link", name="Runs").click()
    first = page.locator(".runs li").first
    expect(first).to_contain_text("How cold is it?")
    box = first.bounding_box()
    assert box
    assert box["height"] < 200

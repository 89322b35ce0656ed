"""The list of runs and its filters."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from support.viewer import COLD, OpenPage, answered, ask


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


def test_runs_show_their_figures_and_are_sorted(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "Is it quick?", mode="fast")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    ask(page, "Is it planned?", mode="high")
    expect(page.locator("h1.asked")).to_have_text("Is it planned?")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.get_by_role("link", name="Runs").click()
    page.get_by_role("searchbox").fill("Is it ")
    expect(page.locator(".runs li")).to_have_count(2)
    expect(page.locator(".runs li").filter(has_text="Is it quick?").locator(".said")).to_contain_text(COLD)
    expect(page.locator(".runs li").first).to_contain_text(re.compile(r"Is it planned.* s·?.*\d tokens.*quote"))
    expect(page.locator(".runs")).not_to_contain_text("cost")
    with page.expect_request(lambda request: "sort=tokens" in request.url):
        page.get_by_label("order").select_option("tokens")
    expect(page.locator(".runs .question").first).to_have_text("Is it planned?")


def test_a_run_is_asked_again_with_another_mode(open_page: OpenPage) -> None:
    page = open_page()
    page.locator("details.filters summary").click()
    page.get_by_label("Names").fill("pump.md, manual.txt")
    ask(page, "What is it worth?", mode="fast")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.get_by_role("link", name="Full trace").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    address = page.url
    page.reload()
    page.get_by_role("link", name="Ask again").click()
    expect(page.get_by_role("textbox", name="Question")).to_have_value("What is it worth?")
    expect(page.locator("select[name=mode]")).to_have_value("fast")
    expect(page.get_by_text("Only documents with document pump.md or manual.txt")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(address)
    page.get_by_role("link", name="Ask again").click()
    page.locator("select[name=mode]").select_option("high")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("h1.asked")).to_have_text("What is it worth?")
    expect(page.locator(".answer .facts").first).to_contain_text("mode high")

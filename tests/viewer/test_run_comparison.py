"""A run is forked from a step of its page, and two runs are shown side by side."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from support.viewer import OpenPage, ask


def test_a_run_is_forked_from_a_step_and_compared(open_page: OpenPage) -> None:
    page = open_page()
    ask(page, "How cold may it be?", mode="high")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.get_by_role("link", name="Full trace").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    origin = page.url.rpartition("/")[2]
    page.goto(f"{page.url}/steps/answer")
    panel = page.locator("#panel")
    panel.get_by_text("Fork from this step").click()
    panel.get_by_label("Instruction").fill("Write one sentence.")
    page.screenshot(path="/tmp/replay_fork.png")
    panel.get_by_role("button", name="Fork").click()
    expect(page.get_by_text(f"Forked from {origin} at the step answer.")).to_be_visible()
    expect(page.locator(".facts .badge").first).to_have_text("answered")
    expect(page.get_by_text("1 model call", exact=True).first).to_be_visible()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.screenshot(path=f"/tmp/replay_forked_{width}.png")
    page.get_by_role("link", name="Compare both").click()
    expect(page.get_by_role("region", name="First difference")).to_contain_text("Write one sentence.")
    expect(page.get_by_role("region", name="First difference")).to_contain_text("plan made")
    expect(page.get_by_role("region", name="Claims")).to_contain_text(re.compile(r"Claims: (\d+) of \1 the same"))
    for width in (1280, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=f"/tmp/replay_compare_{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"


def test_two_runs_are_chosen_in_the_list(open_page: OpenPage) -> None:
    page = open_page()
    for question in ("Is it blue?", "Is it green?"):
        ask(page, question, mode="fast")
        expect(page.locator("h1.asked")).to_have_text(question)
        expect(page.locator(".live .badge").first).to_have_text(re.compile("answered|insufficient"))
    page.get_by_role("link", name="Runs").click()
    page.get_by_role("checkbox", name="Compare: Is it blue?").check()
    expect(page.get_by_text("Choose a second run to compare.")).to_be_visible()
    page.get_by_role("checkbox", name="Compare: Is it green?").check()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.screenshot(path=f"/tmp/replay_runs_{width}.png")
    page.get_by_role("link", name="Compare the two chosen runs").click()
    expect(page.get_by_role("region", name="First run")).to_contain_text("Is it blue?")
    expect(page.get_by_role("region", name="Second run")).to_contain_text("Is it green?")
    expect(page.get_by_role("region", name="First difference")).to_contain_text("run started: request.question")

"""A run is forked from a step of its page and replayed, and two runs are shown side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from support.panel import Panel
from support.viewer import COLD, WARRANTY, OpenPage, Site, ask


def planned_run(page: Page) -> str:
    """Ask a question that is planned, open its run, and return the id."""
    ask(page, "How cold may it be?", mode="high")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.get_by_role("link", name="Full trace").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    return page.url.rpartition("/")[2]


def fork_panel(page: Page, run_id: str, step: str) -> Locator:
    """Open the form that forks a step of a run."""
    page.goto(f"{page.url.partition('#')[0]}#/runs/{run_id}/steps/{step}")
    panel = page.locator("#panel")
    panel.get_by_text("Fork from this step").click()
    return panel


def no_wider(page: Page, *widths: int) -> None:
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"


def test_a_run_is_forked_from_a_step_and_compared(open_page: OpenPage) -> None:
    page = open_page()
    origin = planned_run(page)
    panel = fork_panel(page, origin, "answer")
    panel.get_by_label("Instruction").fill("Write one sentence.")
    panel.get_by_role("button", name="Fork").click()
    expect(page.get_by_text(f"Forked from {origin} at the step answer: another instruction.")).to_be_visible()
    expect(page.locator(".facts .badge").first).to_have_text("answered")
    expect(page.get_by_text("1 model call", exact=True).first).to_be_visible()
    page.get_by_role("link", name="Compare both").click()
    expect(page.get_by_role("region", name="First difference")).to_contain_text("Write one sentence.")
    expect(page.get_by_role("region", name="First difference")).to_contain_text("plan made")
    expect(page.get_by_role("region", name="Claims")).to_contain_text(re.compile(r"Claims: (\d+) of \1 the same"))
    expect(page.get_by_role("region", name="Plans").get_by_role("listitem").filter(has_text="differs")).to_have_count(2)
    no_wider(page, 1280, 768, 390)


def test_a_run_is_forked_with_another_prompt_evidence_and_plan(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel(COLD, WARRANTY)
    page = open_page()
    origin = planned_run(page)
    panel = fork_panel(page, origin, "answer")
    panel.get_by_text("Prompt of Synthesizer").click()
    prompt = panel.get_by_role("textbox", name="Prompt of Synthesizer")
    text = prompt.input_value()
    prompt.fill("# System\nAnswer.\n# User\n$quest")
    panel.get_by_text("Evidence (2)").click()
    panel.get_by_role("checkbox", name=re.compile("Its warranty")).uncheck()
    panel.get_by_role("button", name="Fork").click()
    expect(panel.get_by_role("alert")).to_contain_text("Unknown: $quest.")
    prompt.fill(text.replace("# User\n", "# User\nAnswer in German.\n"))
    plan = panel.get_by_role("textbox", name="Plan as JSON")
    panel.get_by_text("Plan", exact=True).click()
    changed = json.loads(plan.input_value())
    changed["goal"] = "Learn the temperature"
    plan.fill("{")
    panel.get_by_role("button", name="Fork").click()
    expect(panel.get_by_role("alert")).to_contain_text("The plan is not valid JSON")
    plan.fill(json.dumps(changed))
    panel.get_by_role("button", name="Fork").click()
    changes = "another prompt of Synthesizer, only evidence 1, another plan"
    expect(page.get_by_text(f"Forked from {origin} at the step answer: {changes}.")).to_be_visible()
    expect(page.locator(".facts .badge").first).to_have_text("answered")
    assert "Answer in German." in site.endpoint.requests[-1].prompt
    assert WARRANTY not in site.endpoint.requests[-1].prompt
    expect(page.get_by_text("Learn the temperature", exact=True)).to_be_visible()


def test_a_run_is_replayed_on_its_page(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page()
    planned_run(page)
    replay = page.get_by_role("region", name="Replay")
    replay.get_by_role("button", name="Replay").click()
    expect(replay.get_by_text(re.compile(r"^The same \d+ events, apart from times\.$"))).to_be_visible()
    original = Path.read_text

    def read_text(path: Path, *arguments: Any, **options: Any) -> str:
        text = original(path, *arguments, **options)
        return text.replace("# User\n", "# User\nThink first.\n", 1) if path.name == "planner.md" else text

    monkeypatch.setattr(Path, "read_text", read_text)
    replay.get_by_role("button", name="Replay").click()
    expect(replay).to_contain_text("Cause: prompt: multi_agent/prompts/planner.md has another text.")
    expect(replay).to_contain_text("First differing line in the prompt of Planner")
    expect(replay).to_contain_text("Think first.")
    no_wider(page, 1280, 768, 390)


def test_the_comparison_is_loaded_again_when_the_connection_is_back(open_page: OpenPage) -> None:
    page = open_page()
    run_id = planned_run(page)
    page.route("**/comparison/**", lambda route: route.abort())
    page.goto(f"{page.url.partition('#')[0]}#/compare/{run_id}/{run_id}")
    expect(page.get_by_role("alert")).to_be_visible()
    page.unroute("**/comparison/**")
    expect(page.get_by_role("region", name="First run")).to_be_visible()


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
    page.get_by_role("link", name="Compare the two chosen runs").click()
    expect(page.get_by_role("region", name="First run")).to_contain_text("Is it blue?")
    expect(page.get_by_role("region", name="Second run")).to_contain_text("Is it green?")
    expect(page.get_by_role("region", name="First difference")).to_contain_text("run started: request.question")

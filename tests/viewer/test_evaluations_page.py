"""The evaluations pages: start, progress, results, comparison, resume and delete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.panel import EXTRACTION, Panel
from support.replies import Reply, Request, hang
from support.viewer import COLD, HOSTILE, OpenPage, Site, confirm

QUESTIONS = [
    {"id": "cold", "question": "How cold may it get outside?", "accepted": ["-25 °C"], "tags": ["pumps"],
     "gold": [{"document": "pump.md", "quote": COLD}]},
    {"id": "warranty", "question": "How long is its warranty?", "accepted": ["seven years"], "tags": ["pumps"],
     "gold": [{"document": "pump.md", "quote": "Its warranty is seven years."}]},
    {"id": "none", "question": f"Who skied first to the pole? {HOSTILE}", "type": "none", "tags": ["none"]},
]  # fmt: skip


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A question set: two questions with an answer, one without."""
    path = tmp_path / "pumps.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in QUESTIONS), encoding="utf-8")
    return path


def open_form(page: Page) -> None:
    """Open the form. It is open already while there are no evaluations."""
    form = page.locator("details").filter(has_text="Start an evaluation")
    form.wait_for()
    if form.get_attribute("open") is None:
        form.locator("summary").click()


def start(page: Page, questions: Path, label: str) -> None:
    """Fill in the form and submit it."""
    open_form(page)
    page.get_by_label("Question set").set_input_files(questions)
    expect(page.locator(".drop")).to_contain_text("pumps: 3 questions, 2 tags")
    page.locator("select[name=mode]").select_option("high")
    page.get_by_label("Label", exact=True).fill(label)
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"pumps: {label}")


def expect_finished(page: Page) -> None:
    expect(page.locator(".facts .badge").first).to_have_text("finished")
    expect(page.locator(".job")).to_have_count(0)


def finds_nothing(request: Request) -> Reply | str:
    """Play a model that quotes nothing."""
    return Panel("@nothing")(request)


def test_an_evaluation_shows_figures_questions_and_runs(open_page: OpenPage, questions: Path) -> None:
    page = open_page("evaluations")
    start(page, questions, "the panel")
    expect_finished(page)
    correct = page.get_by_role("region", name="Figures").locator("tr").filter(has_text="correct").first
    expect(correct.locator("td").first).to_have_text("0.333")
    expect(correct.locator("svg.interval circle")).to_be_visible()
    expect(page.get_by_role("region", name="By tag")).to_contain_text("pumps")
    wrong = page.get_by_role("region", name="Wrong answers by cause")
    expect(wrong).to_contain_text("answered what has no answer")
    rows = page.get_by_role("region", name="Questions").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="none")).to_contain_text(HOSTILE)
    wrong.get_by_role("button", name="answered what has no answer").click()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="right 1").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("How cold")
    expect(rows.locator(".badge")).to_have_text("right")
    expect(rows.locator("td").nth(2)).to_contain_text("-25 °C")  # the answer
    expect(rows.locator("td").nth(3)).to_have_text("-25 °C")  # the accepted answer
    with page.expect_download() as saved:
        page.get_by_role("button", name="HTML").click()
    assert "How long is its warranty?" in saved.value.path().read_text(encoding="utf-8")
    rows.get_by_role("link", name="View run").click()
    expect(page.locator(".graph a").first).to_be_visible()
    page.get_by_role("link", name="Evaluations").click()
    expect(page.locator(".evaluations li").first).to_contain_text("33 %")
    assert page.title() == "Candor"


def test_two_evaluations_are_compared(open_page: OpenPage, site: Site, questions: Path) -> None:
    page = open_page("evaluations")
    start(page, questions, "before")
    expect_finished(page)
    site.responder = finds_nothing
    page.get_by_role("link", name="Evaluations").click()
    start(page, questions, "after")
    expect_finished(page)
    page.get_by_label("Compare with").select_option(index=1)
    expect(page.get_by_role("heading", level=1)).to_have_text("after against before")
    correct = page.get_by_role("region", name="Differences").locator("tr").filter(has_text="correct").first
    expect(correct).to_contain_text("1 / 1 / 1")  # "none" is right now, "cold" is wrong
    expect(correct.locator("svg .none")).to_have_count(1)
    changed = page.get_by_role("region", name="Changed questions")
    expect(changed).to_contain_text("2 questions changed")
    expect(changed.locator("tr").filter(has_text="How cold").locator(".badge")).to_have_text(["right", "wrong"])


def test_an_evaluation_is_cancelled_resumed_and_deleted(open_page: OpenPage, site: Site, questions: Path) -> None:
    waits = Panel("-25 °C", roles={EXTRACTION: lambda _: hang()})
    site.responder = lambda request: waits(request) if "How long" in request.prompt else Panel("-25 °C")(request)
    page = open_page("evaluations")
    start(page, questions, "held up")
    job = page.locator(".job")
    expect(job).to_contain_text("2 of 3 questions answered")
    expect(page.get_by_role("region", name="Questions")).to_contain_text("running")
    job.get_by_role("button", name="Cancel").click()
    expect(page.locator(".facts .badge").first).to_have_text("unfinished")
    site.responder = Panel("-25 °C")
    page.get_by_role("button", name="Resume").click()
    expect_finished(page)
    page.get_by_role("button", name="Delete").click()
    confirm(page, "Delete")
    expect(page.get_by_role("heading", level=1)).to_have_text("Evaluations")
    expect(page.locator("main")).not_to_contain_text("held up")


def test_an_invalid_question_set_cannot_be_started(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("evaluations")
    open_form(page)
    faulty = tmp_path / "faulty.csv"
    faulty.write_text("question,colour\nHow many?,blue\n,red\n", encoding="utf-8")
    page.get_by_label("Question set").set_input_files(faulty)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("line 2: unknown field 'colour'")
    expect(alert).to_contain_text("line 3:")
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
    faulty.write_bytes(b"question\nWie k\xfchl?\n")
    page.get_by_label("Question set").set_input_files(faulty)
    expect(alert).to_contain_text("not UTF-8 text")

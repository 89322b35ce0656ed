"""Reports of evaluations: complete in themselves, and what documents and models said is only text in them."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from api.services.reports.report import Format, Report, write
from multi_agent.evaluation.errors import EvaluationError
from multi_agent.evaluation.failures import Place
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.records import Configuration, Evaluation, EvaluationResult, Row, State

HOSTILE = "<script>document.title='owned'</script> | **x**"


def result(label: str, values: list[float], *, fingerprint: str = "same") -> EvaluationResult:
    """An evaluation of as many questions as there are values."""
    questions = tuple(
        Question(id=f"q{n}", question=f"Question {n}? {HOSTILE}", accepted=("yes",), tags=("a" if n % 2 else "b",))
        for n in range(len(values))
    )
    rows = tuple(
        Row(
            question_id=each.id, run_id=f"run_{n}", status="answered", said=HOSTILE,
            place=Place.RIGHT if value else Place.NOT_USED, figures={"correct": value, "model_calls": 3.0},
        )
        for n, (each, value) in enumerate(zip(questions, values, strict=True))
    )  # fmt: skip
    evaluation = Evaluation(
        id=f"eval_{label}", set_name="mine", fingerprint=fingerprint, collection="papers",
        configuration=Configuration(label=label, model="m"), metrics=("correct",), state=State.FINISHED,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    return EvaluationResult(evaluation=evaluation, questions=questions, rows=rows)


@pytest.fixture
def report() -> Report:
    """Two configurations, of which the second is better."""
    return Report.of([result("before", [1, 0, 0, 1]), result("after", [1, 1, 1, 1])], viewer="http://127.0.0.1:8484/")


def test_the_page_holds_figures_changes_and_every_question(report: Report) -> None:
    page = write(report, Format.HTML)
    assert "after minus before" in page
    assert "+0.500" in page
    assert page.count("<details") == 4
    assert 'href="http://127.0.0.1:8484/#/runs/run_1"' in page
    assert "extracted but not used (2)" in page
    assert page.count("<svg") == 3


def test_what_was_said_is_only_text(report: Report, tmp_path: Path, chromium: str) -> None:
    """In a real browser: nothing runs, nothing is loaded."""
    path = tmp_path / "report.html"
    path.write_text(write(report, Format.HTML), encoding="utf-8")
    assert "<script" not in path.read_text(encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        loaded: list[str] = []
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(path.as_uri())
        page.locator("details summary").first.click()
        assert page.title() == "mine: before, after"
        assert page.locator("details p", has_text="document.title='owned'").first.is_visible()
        assert loaded == [path.as_uri()]
        browser.close()


def test_a_table_in_markdown_is_not_broken_by_what_was_said(report: Report) -> None:
    text = write(report, Format.MARKDOWN)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)
    assert re.search(r"^\| correct \| 0\.500 \(.*; 4\) \| 1\.000 \(.*; 4\) \|$", text, re.MULTILINE)
    assert "\\|" in text  # that of a question


def test_json_holds_all_of_it(report: Report) -> None:
    assert Report.model_validate(json.loads(write(report, Format.JSON))) == report


def test_evaluations_of_different_questions_are_not_put_side_by_side() -> None:
    with pytest.raises(EvaluationError, match="different questions"):
        Report.of([result("a", [1]), result("b", [1], fingerprint="other")])


@pytest.mark.filterwarnings("error")
def test_what_nobody_can_tell_is_left_out() -> None:
    """No plots of nothing, and no interval of one question's calls."""
    alone = result("one", [1.0])
    [row] = alone.rows
    calls = alone.model_copy(
        update={"rows": (row.model_copy(update={"figures": {"model_calls": 2.0}, "place": None}),)}
    )
    page = write(Report.of([calls, calls]), Format.HTML)
    assert "<svg" not in page
    assert "Where answers went wrong" not in page
    assert "–; 1" in page


def test_equal_names_are_told_apart() -> None:
    first, second = result("same", [1]), result("same", [0])
    other = second.evaluation.model_copy(update={"id": "eval_2"})
    twice = Report.of([first, second.model_copy(update={"evaluation": other})])
    assert twice.labels == ("same (eval_same)", "same (eval_2)")


@pytest.fixture
def chromium() -> str:
    """As the system has it."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("Chromium is not installed (on Debian: apt-get install chromium).")
    return found

"""Reports of evaluations: self-contained, with escaped texts of documents and models."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from api.services.reports.report import Report, ReportFormat, render_report
from multi_agent.evaluation.case import Place
from multi_agent.evaluation.errors import EvaluationError
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.store import Configuration, Evaluation, EvaluationResult, Row, State
from support.browser import NO_CHROMIUM, find_chromium

HOSTILE = "<script>document.title='owned'</script> | **x**"


def result(label: str, values: list[float], *, fingerprint: str = "same") -> EvaluationResult:
    """Return an evaluation with one question per value."""
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
    """Return a report of two configurations; the second is better."""
    return Report.create(
        [result("before", [1, 0, 0, 1]), result("after", [1, 1, 1, 1])], viewer="http://127.0.0.1:8484/"
    )


def test_the_page_has_figures_changes_and_questions(report: Report) -> None:
    page = render_report(report, ReportFormat.HTML)
    assert "after minus before" in page
    assert "+0.500" in page
    assert page.count("<details") == 4
    assert 'href="http://127.0.0.1:8484/#/runs/run_1"' in page
    assert "extracted but not used (2)" in page
    assert page.count("<svg") == 3
    assert re.search(r'x1="\d+\.\d" x2="100\.0" .*cx="100\.0"', page), "the mean and the interval of `after`"
    assert '<span class="right" style="flex: 2" title="right: 2">' in page


def test_a_question_has_a_verdict_in_each_evaluation(report: Report) -> None:
    assert [each.verdicts for each in report.questions] == [
        ("right", "right"), ("wrong", "right"), ("wrong", "right"), ("right", "right"),
    ]  # fmt: skip
    assert [each.changed for each in report.questions] == [False, True, True, False]
    unscored = result("unscored", [1])
    [row] = unscored.rows
    failed = unscored.model_copy(update={"rows": (row.model_copy(update={"status": "failed", "figures": {}}),)})
    [question] = Report.create([failed]).questions
    assert question.verdicts == ("failed",)


def test_html_in_answers_is_escaped(report: Report, tmp_path: Path, chromium: str) -> None:
    """In a browser, no script runs and nothing is loaded."""
    path = tmp_path / "report.html"
    path.write_text(render_report(report, ReportFormat.HTML), encoding="utf-8")
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


def test_pipes_in_answers_do_not_break_markdown_tables(report: Report) -> None:
    text = render_report(report, ReportFormat.MARKDOWN)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)
    assert re.search(r"^\| correct \| 0\.500 \(.*; 4\) \| 1\.000 \(.*; 4\) \|$", text, re.MULTILINE)
    assert "\\|" in text  # in a question


def test_json_contains_the_whole_report(report: Report) -> None:
    assert Report.model_validate(json.loads(render_report(report, ReportFormat.JSON))) == report


def test_different_question_sets_are_not_compared() -> None:
    with pytest.raises(EvaluationError, match="different questions"):
        Report.create([result("a", [1]), result("b", [1], fingerprint="other")])


@pytest.mark.filterwarnings("error")
def test_missing_figures_are_not_drawn() -> None:
    """The page has no empty drawings, and no interval for a single question."""
    alone = result("one", [1.0])
    [row] = alone.rows
    calls = alone.model_copy(
        update={"rows": (row.model_copy(update={"figures": {"model_calls": 2.0}, "place": None}),)}
    )
    page = render_report(Report.create([calls, calls]), ReportFormat.HTML)
    assert "<svg" not in page
    assert "Where answers went wrong" not in page
    assert "–; 1" in page


def test_equal_labels_get_the_evaluation_id() -> None:
    first, second = result("same", [1]), result("same", [0])
    other = second.evaluation.model_copy(update={"id": "eval_2"})
    twice = Report.create([first, second.model_copy(update={"evaluation": other})])
    assert twice.labels == ("same (eval_same)", "same (eval_2)")


@pytest.fixture
def chromium() -> str:
    """Return the path of the installed Chromium."""
    found = find_chromium()
    if found is None:
        pytest.skip(NO_CHROMIUM)
    return found

"""The quality gate: conditions on figures and the comparison with a baseline."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from api.errors import UsageError
from api.services.evaluation.gate import EvaluationGate
from multi_agent.evaluation.metric import discover
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.store import Configuration, Evaluation, EvaluationResult, Row
from multi_agent.evaluation.summary import summarize

METRICS = discover().values()


def result(values: list[float], figure: str = "correct") -> EvaluationResult:
    """Return an evaluation with one question per value."""
    questions = tuple(Question(id=f"q{number}", question="How many?") for number in range(len(values)))
    evaluation = Evaluation(
        id="eval_1", set_name="mine", fingerprint="same", collection="papers", metrics=(),
        configuration=Configuration(label="one", model="scripted"), started_at=datetime(2026, 1, 2, tzinfo=UTC),
    )  # fmt: skip
    rows = tuple(
        Row(question_id=each.id, run_id=f"run_{each.id}", status="answered", figures={figure: value})
        for each, value in zip(questions, values, strict=True)
    )
    return EvaluationResult(evaluation=evaluation, questions=questions, rows=rows)


def make_gate(*conditions: str, baseline: EvaluationResult | None = None, figure: str = "correct") -> EvaluationGate:
    """Return a gate for evaluations with all known figures."""
    return EvaluationGate(conditions, baseline, figure, METRICS, "same")


def test_a_failed_condition_names_the_value() -> None:
    summary = summarize(result([1.0, 1.0, 0.0]))
    assert make_gate("correct<0.9", "correct < 0.5").failed_conditions(summary) == ["correct < 0.9: correct is 0.6667"]
    with pytest.raises(UsageError, match="No question has the figure 'f1'"):
        make_gate("f1 < 0.9").failed_conditions(summary)


def test_the_figure_decides_whether_lower_is_worse() -> None:
    few, many = [2.0, 3.0] * 4, [5.0, 7.0] * 4
    slower, many_seconds = make_gate(baseline=result(few, "seconds"), figure="seconds"), result(many, "seconds")
    message, is_worse = slower.compare_with_baseline(many_seconds)
    assert (message[:24], is_worse) == ("seconds is higher by 3.5", True)
    faster = make_gate(baseline=many_seconds, figure="seconds")
    assert faster.compare_with_baseline(result(few, "seconds")) == ("", False)
    assert make_gate(baseline=result([1.0] * 8)).compare_with_baseline(result([0.0] * 8))[1]


def test_a_difference_by_chance_is_not_a_failure() -> None:
    gate = make_gate(baseline=result([1.0] * 5))
    message, is_worse = gate.compare_with_baseline(result([0.0, 1.0, 0.0, 0.0, 0.0]))
    assert not is_worse
    assert message == (
        "correct is lower by 0.8 (p = 0.125), which may be chance. Detecting such a difference takes about 8 questions."
    )

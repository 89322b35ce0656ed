"""What is demanded of an evaluation, and when it is held to be worse than an earlier one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from api.errors import UsageError
from api.services.evaluation_demands import Demands
from multi_agent.evaluation.metric import discover, figures_of
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.records import Configuration, Evaluation, EvaluationResult, Row
from multi_agent.evaluation.summary import summarise

FIGURES = figures_of(discover().values())


def result(values: list[float], figure: str = "correct") -> EvaluationResult:
    """An evaluation with a question for each value."""
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


def demands(*conditions: str, before: EvaluationResult | None = None, figure: str = "correct") -> Demands:
    """These, on evaluations with all figures that there are."""
    return Demands(conditions, before, figure, figures=FIGURES, fingerprint="same")


def test_a_condition_that_holds_is_told_with_the_value() -> None:
    summary = summarise(result([1.0, 1.0, 0.0]))
    assert demands("correct<0.9", "correct < 0.5").broken(summary) == ["correct < 0.9: correct is 0.6667"]
    with pytest.raises(UsageError, match="No question of the set has the figure 'f1'"):
        demands("f1 < 0.9").broken(summary)


def test_worse_is_lower_or_higher_as_the_figure_says() -> None:
    few, many = [2.0, 3.0] * 4, [5.0, 7.0] * 4
    slower = demands(before=result(few, "seconds"), figure="seconds").held_against(result(many, "seconds"))
    assert slower.worse
    assert slower.said.startswith("seconds is higher by 3.5")
    faster = demands(before=result(many, "seconds"), figure="seconds").held_against(result(few, "seconds"))
    assert (faster.worse, faster.said) == (False, "")
    assert demands(before=result([1.0] * 8)).held_against(result([0.0] * 8)).worse


def test_what_may_be_chance_is_told_and_is_no_failure() -> None:
    verdict = demands(before=result([1.0] * 5)).held_against(result([0.0, 1.0, 0.0, 0.0, 0.0]))
    assert not verdict.worse
    assert verdict.said == (
        "correct is lower by 0.8 (p = 0.125), which may be chance; to tell a difference like this, it takes about 8 "
        "questions"
    )

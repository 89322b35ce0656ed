"""Stored records of an evaluation: its configuration, state, and one row per question."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import AwareDatetime, Field

from base.models import FrozenModel
from multi_agent.evaluation.failures import Place
from multi_agent.evaluation.question_set import Question
from multi_agent.model import Usage
from multi_agent.settings.research import Budget


class Configuration(FrozenModel):
    """The options with which questions are asked."""

    label: str = Field(description="name shown to people")
    mode: Literal["auto", "fast", "high", "direct"] = "auto"
    agent: str = ""
    endpoint: str = Field(default="", description="name of the endpoint; empty: the default endpoint")
    samples: int | None = None
    run_budget: Budget | None = Field(default=None, description="budget of each run")
    model: str
    settings: Mapping[str, Any] = Field(default={}, description="tree of settings that override the current ones")


class State(StrEnum):
    """The state of an evaluation."""

    UNFINISHED = "unfinished"
    BUDGET_REACHED = "budget reached"
    FINISHED = "finished"


class Evaluation(FrozenModel):
    """One configuration applied to one question set."""

    id: str
    set_name: str
    fingerprint: str = Field(
        description="hash of the questions; only evaluations with equal fingerprints can be compared"
    )
    collection: str
    configuration: Configuration
    metrics: tuple[str, ...]
    judge: str = Field(default="", description="the judge's model; empty: no judge")
    judge_endpoint: str | None = Field(
        default=None, description="name of the judge's endpoint; empty: the default endpoint"
    )
    started_at: AwareDatetime
    state: State = State.UNFINISHED


class Row(FrozenModel):
    """The result of one question. A row without a status belongs to a run that has started."""

    question_id: str
    run_id: str
    status: str = Field(default="", description="status of the run; empty until it is finished")
    said: str = Field(default="", description="the short answer, or the full text")
    place: Place | None = Field(default=None, description="outcome: right, or the stage that failed")
    figures: Mapping[str, float] = Field(default={})
    errors: Mapping[str, str] = Field(default={}, description="errors by metric")
    error: str = Field(default="", description="why the run failed")
    spent: Usage = Field(default=Usage(), description="usage of the run")
    judging: Usage = Field(default=Usage(), description="usage of the judge, not included in `spent`")

    @property
    def finished(self) -> bool:
        """Whether the answer has been measured."""
        return bool(self.status)

    def outcome(self, question: Question) -> str:
        """Return the outcome as text. For a wrong answer, include the actual and the expected answer."""
        if self.place in (None, Place.RIGHT, Place.RUN_FAILED):
            return self.place.value if self.place else ""
        expected = " or ".join(question.accepted) or question.answer or ""
        said = [f"said {self.said}" if self.said else "gave no answer", f"expected {expected}" if expected else ""]
        cause = "add gold to learn where it failed" if self.place is Place.UNKNOWN else self.place.value
        return f"wrong: {', '.join(filter(None, said))}; {cause}"


class EvaluationResult(FrozenModel):
    """An evaluation with its questions and the rows so far, in the order of the question set."""

    evaluation: Evaluation
    questions: tuple[Question, ...]
    rows: tuple[Row, ...]

    @property
    def left(self) -> int:
        """The number of unfinished questions."""
        return len(self.questions) - sum(row.finished for row in self.rows)

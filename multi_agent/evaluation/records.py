"""What is kept of an evaluation: how it was made, and one row for each question."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import AwareDatetime, Field

from multi_agent.evaluation.failures import Place
from multi_agent.evaluation.question_set import Question
from multi_agent.llm.llm import Usage
from multi_agent.settings import Budget
from vectorstore.models import FrozenModel


class Configuration(FrozenModel):
    """How the questions were asked."""

    label: str = Field(description="what people call it")
    mode: Literal["auto", "fast", "high", "direct"] = "auto"
    agent: str = ""
    endpoint: str = Field(default="", description="named endpoint that is asked; empty for the default one")
    samples: int | None = None
    run_budget: Budget | None = Field(default=None, description="of each run")
    model: str
    settings: Mapping[str, Any] = Field(default={}, description="settings that differ from those in force, as a tree")


class State(StrEnum):
    """How far an evaluation is."""

    UNFINISHED = "unfinished"
    BUDGET_REACHED = "budget reached"
    FINISHED = "finished"


class Evaluation(FrozenModel):
    """One configuration, asked the questions of one set."""

    id: str
    set_name: str
    fingerprint: str = Field(description="of the questions; only evaluations of the same can be compared")
    collection: str
    configuration: Configuration
    metrics: tuple[str, ...]
    judge: str = Field(default="", description="the judge's model; empty if there is none")
    judge_endpoint: str | None = Field(default=None, description="its named endpoint; empty for the default one")
    started_at: AwareDatetime
    state: State = State.UNFINISHED


class Row(FrozenModel):
    """What became of one question. A row without figures is one that has been begun."""

    question_id: str
    run_id: str
    status: str = Field(default="", description="of the run; empty while it is under way")
    said: str = Field(default="", description="the bare answer")
    place: Place | None = Field(default=None, description="where it went wrong")
    figures: Mapping[str, float] = Field(default={})
    errors: Mapping[str, str] = Field(default={}, description="metrics that could not tell, and why")
    error: str = Field(default="", description="why the question could not be asked, or its run failed")
    spent: Usage = Field(default=Usage(), description="by the run")
    judging: Usage = Field(default=Usage(), description="by the judge, beside the run")

    @property
    def finished(self) -> bool:
        """Whether it was asked, answered and measured."""
        return bool(self.status)


class EvaluationResult(FrozenModel):
    """An evaluation with its questions and the rows so far, in the order of the set."""

    evaluation: Evaluation
    questions: tuple[Question, ...]
    rows: tuple[Row, ...]

    @property
    def left(self) -> int:
        """How many questions are not finished."""
        return len(self.questions) - sum(row.finished for row in self.rows)

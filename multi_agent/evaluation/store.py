"""Stores evaluations, their questions and rows in SQL. An interrupted evaluation can resume from them."""

import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal

import sqlalchemy as sql
from pydantic import AwareDatetime, Field, TypeAdapter

from base.database import METADATA, SqlStore
from base.models import FrozenModel
from multi_agent.evaluation.case import Place
from multi_agent.evaluation.errors import EvaluationNotFound
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


_QUESTIONS = TypeAdapter(tuple[Question, ...])

_evaluations = sql.Table(
    "evaluations",
    METADATA,
    sql.Column("id", sql.String(32), primary_key=True),
    sql.Column("collection", sql.String(64), nullable=False, index=True),
    sql.Column("started_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("evaluation", sql.JSON, nullable=False),
    sql.Column("questions", sql.JSON, nullable=False),
)

_rows = sql.Table(
    "evaluation_rows",
    METADATA,
    sql.Column("evaluation_id", sql.String(32), sql.ForeignKey("evaluations.id"), primary_key=True),
    sql.Column("question_id", sql.Text, primary_key=True),
    sql.Column("row", sql.JSON, nullable=False),
)


def new_evaluation_id() -> str:
    """Return a new id: 'eval_' and 8 hexadecimal digits."""
    return f"eval_{secrets.token_hex(4)}"


class EvaluationStore(SqlStore):
    """Stores evaluations in the database of ``engine``."""

    def add(self, evaluation: Evaluation, questions: Sequence[Question]) -> None:
        """Store a new evaluation."""
        row = {
            "id": evaluation.id,
            "collection": evaluation.collection,
            "started_at": evaluation.started_at,
            "evaluation": evaluation.model_dump(mode="json"),
            "questions": [question.model_dump(mode="json") for question in questions],
        }
        with self._engine.begin() as connection:
            connection.execute(_evaluations.insert(), row)

    def set_state(self, evaluation_id: str, state: State) -> None:
        """Update the state. Raises EvaluationNotFound."""
        evaluation = self.get(evaluation_id).evaluation.model_copy(update={"state": state})
        changed = _evaluations.update().where(_evaluations.c.id == evaluation.id)
        with self._engine.begin() as connection:
            connection.execute(changed.values(evaluation=evaluation.model_dump(mode="json")))

    def put(self, evaluation_id: str, row: Row) -> None:
        """Insert the row of a question, or replace it."""
        key = {"evaluation_id": evaluation_id, "question_id": row.question_id}
        self._replace(_rows, key | {"row": row.model_dump(mode="json")})

    def get(self, evaluation_id: str) -> EvaluationResult:
        """Return the evaluation with this id or unique id prefix. Raises EvaluationNotFound."""
        query = sql.select(_evaluations).where(_evaluations.c.id.startswith(evaluation_id, autoescape=True)).limit(2)
        with self._engine.connect() as connection:
            found = connection.execute(query).all()
            if len(found) != 1:
                reason = "More than one evaluation id starts with" if found else "There is no evaluation"
                error = EvaluationNotFound(f"{reason} {evaluation_id!r}.")
                raise error.with_command("`candor eval list` lists the evaluations.")
            kept = connection.execute(sql.select(_rows.c.row).where(_rows.c.evaluation_id == found[0].id)).scalars()
            rows = {row.question_id: row for row in map(Row.model_validate, kept)}
        questions = _QUESTIONS.validate_python(found[0].questions)
        return EvaluationResult(
            evaluation=Evaluation.model_validate(found[0].evaluation),
            questions=questions,
            rows=tuple(rows[each.id] for each in questions if each.id in rows),
        )

    def list(self) -> tuple[Evaluation, ...]:
        """Return all evaluations, newest first."""
        query = sql.select(_evaluations.c.evaluation).order_by(_evaluations.c.started_at.desc(), _evaluations.c.id)
        return tuple(Evaluation.model_validate(row.evaluation) for row in self._select(query))

    def run_ids(self) -> set[str]:
        """Return the ids of the runs of all evaluations."""
        return {run_id for (run_id,) in self._select(sql.select(_rows.c.row["run_id"].as_string()))}

    def list_progress(self) -> Iterator[tuple[Evaluation, int, Sequence[Row]]]:
        """Yield evaluations, newest first, each with its number of questions and its finished rows."""
        count = sql.func.json_array_length(_evaluations.c.questions)
        query = sql.select(_evaluations.c.evaluation, count)
        finished: defaultdict[str, list[Row]] = defaultdict(list)
        with self._engine.connect() as connection:
            for evaluation_id, kept in connection.execute(sql.select(_rows.c.evaluation_id, _rows.c.row)):
                if (row := Row.model_validate(kept)).finished:
                    finished[evaluation_id].append(row)
            found = connection.execute(query.order_by(_evaluations.c.started_at.desc(), _evaluations.c.id)).all()
        for kept, questions in found:
            evaluation = Evaluation.model_validate(kept)
            yield evaluation, questions, finished[evaluation.id]

    def delete(self, evaluation_id: str) -> None:
        """Delete an evaluation, but not its runs. Raises EvaluationNotFound."""
        found = self.get(evaluation_id).evaluation.id
        with self._engine.begin() as connection:
            connection.execute(_rows.delete().where(_rows.c.evaluation_id == found))
            connection.execute(_evaluations.delete().where(_evaluations.c.id == found))

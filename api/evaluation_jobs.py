"""Evaluations as jobs of the service: they go on after a restart, where they were."""

from __future__ import annotations

import asyncio
from statistics import fmean

from pydantic import Field, JsonValue

from api.bootstrap import Candor
from api.errors import JobFailed
from api.evaluating import carry_on, store_of
from api.jobs import JobKind, Jobs, JobStatus, Order, Taken
from api.running import Runs
from api.shelf import Shelf
from multi_agent.errors import AgentError
from multi_agent.evaluation.records import Row
from multi_agent.evaluation.runner import rightness
from multi_agent.settings import Budget
from vectorstore.errors import StoreError
from vectorstore.models import Value


class EvaluationOrder(Value):
    """What a job of evaluation is asked with; the evaluation itself is stored."""

    evaluation: str
    parallel: int = Field(default=4, ge=1, le=256)
    budget: Budget = Budget()


class EvaluationProgress(Value):
    """How far an evaluation is."""

    asked: int
    questions: int
    right: float | None = Field(default=None, description="running mean; None as long as nothing is known")


class Evaluations:
    """How the service's jobs of evaluation are done; the models are those of its runs."""

    def __init__(self, candor: Candor, shelf: Shelf, jobs: Jobs, runs: Runs) -> None:
        self._candor, self._shelf, self._runs = candor, shelf, runs
        jobs.offer(JobKind.EVALUATION, self)

    async def work(self, taken: Taken) -> JsonValue:
        """Ask what is not finished. Raises JobFailed."""
        order = EvaluationOrder.model_validate_json(taken.order.content)
        try:
            result = store_of(self._candor).get(order.evaluation)
            opened = await asyncio.to_thread(self._shelf.take, result.evaluation.collection)
            finished = [row for row in result.rows if row.finished]
            told = _Progress(taken, len(result.questions), finished)
            state = await carry_on(
                self._candor, opened.library, result, parallel=order.parallel, budget=order.budget,
                tell=told.hear, models=self._runs.models, rests=taken.resting,
            )  # fmt: skip
        except (AgentError, StoreError) as error:
            raise JobFailed(str(error)) from error
        return {"evaluation": order.evaluation, "state": state.value}

    async def abandon(self, order: Order, status: JobStatus, reason: str) -> None:
        """Nothing is lost: what it has finished stays, and it can be resumed."""


class _Progress:
    """Tells the job of every row."""

    def __init__(self, taken: Taken, questions: int, finished: list[Row]) -> None:
        self._taken, self._questions = taken, questions
        self._rows = finished
        self._tell()

    def hear(self, row: Row) -> None:
        self._rows.append(row)
        self._tell()

    def _tell(self) -> None:
        known = [right for row in self._rows if (right := rightness(row.figures)) is not None]
        progress = EvaluationProgress(
            asked=len(self._rows), questions=self._questions, right=fmean(known) if known else None
        )
        self._taken.progress = progress.model_dump()

"""Evaluations as jobs of the service: they go on after a restart, where they were."""

from __future__ import annotations

from statistics import fmean

from pydantic import Field, JsonValue

from api.bootstrap import Candor
from api.errors import JobFailed, ResearchLost
from api.jobs.runner import ActiveJob, JobKind, Jobs, JobStatus, Order
from api.services.evaluations import store_of
from api.workers.contract import EvaluationJobSpec, Researcher
from multi_agent.errors import AgentError
from multi_agent.evaluation.records import Row
from multi_agent.evaluation.runner import rightness
from vectorstore.errors import StoreError
from vectorstore.models import FrozenModel


class EvaluationProgress(FrozenModel):
    """How far an evaluation is."""

    asked: int
    questions: int
    right: float | None = Field(default=None, description="running mean; None as long as nothing is known")


class EvaluationJobs:
    """How the service's jobs of evaluation are done; the models are those of its runs."""

    def __init__(self, candor: Candor, jobs: Jobs, researcher: Researcher) -> None:
        self._candor, self._researcher = candor, researcher
        jobs.offer(JobKind.EVALUATION, self)

    async def work(self, taken: ActiveJob) -> JsonValue:
        """Ask what is not finished. Raises JobFailed."""
        order = EvaluationJobSpec.model_validate_json(taken.order.content)
        try:
            result = store_of(self._candor).get(order.evaluation)
            finished = [row for row in result.rows if row.finished]
            told = _Progress(taken, len(result.questions), finished)
            collection = result.evaluation.collection
            state = await self._researcher.evaluate(order, collection, told.hear, taken.resting)
        except (AgentError, StoreError, ResearchLost) as error:
            raise JobFailed(str(error)) from error
        return {"evaluation": order.evaluation, "state": state.value}

    async def abandon(self, order: Order, status: JobStatus, reason: str) -> None:
        """Nothing is lost: what it has finished stays, and it can be resumed."""


class _Progress:
    """Tells the job of every row."""

    def __init__(self, taken: ActiveJob, questions: int, finished: list[Row]) -> None:
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

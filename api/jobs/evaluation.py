"""Evaluations as jobs of the service. After a restart they resume with the first unanswered question."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from statistics import fmean

from pydantic import Field, JsonValue

from api.auth.callers import Callers
from api.errors import JobFailed
from api.jobs.models import ActiveJob, JobKind, JobSpec, JobStatus
from api.jobs.runner import Jobs
from api.services.documents.collection_pool import CollectionPool
from api.services.evaluation.evaluations import Evaluations
from base.models import FrozenModel
from multi_agent.errors import AgentError
from multi_agent.evaluation.records import Row
from multi_agent.evaluation.runner import correctness
from multi_agent.llm.models import Models
from multi_agent.settings.research import Budget
from vectorstore.errors import StoreError


class EvaluationJobSpec(FrozenModel):
    """The stored specification of an evaluation job. The evaluation itself is stored separately."""

    evaluation: str
    parallel: int = Field(default=4, ge=1, le=256)
    budget: Budget = Budget()


class EvaluationProgress(FrozenModel):
    """Progress of an evaluation."""

    asked: int
    questions: int
    right: float | None = Field(default=None, description="running mean score; None until an answer has been scored")


class EvaluationJobs:
    """The handler of evaluation jobs."""

    def __init__(
        self,
        evaluations: Evaluations,
        callers: Callers,
        pool: CollectionPool,
        jobs: Jobs,
        make_models: Callable[[], Models],
    ) -> None:
        """``make_models`` makes the models of this process, which all jobs share."""
        self._evaluations, self._callers, self._pool, self._make_models = evaluations, callers, pool, make_models
        jobs.register(JobKind.EVALUATION, self)

    async def run(self, job: ActiveJob) -> JsonValue:
        """Ask the unfinished questions. Raises JobFailed."""
        spec, key = EvaluationJobSpec.model_validate_json(job.spec.content), job.spec.key
        try:
            result = await asyncio.to_thread(self._evaluations.store.get, spec.evaluation)
            finished = [row for row in result.rows if row.finished]
            progress = _Progress(job, len(result.questions), finished)
            library = await asyncio.to_thread(self._pool.library, result.evaluation.collection)
            # Runs side by side could each use the tokens that are left today.
            limits = await asyncio.to_thread(lambda: self._callers.find(key).limits)
            state = await self._evaluations.resume(
                library, result, parallel=1 if limits.tokens_per_day else spec.parallel, budget=spec.budget,
                publish=progress.add, models=self._make_models(), pausing=job.is_paused, key=key, limits=limits,
            )  # fmt: skip
        except (AgentError, StoreError) as error:
            raise JobFailed(str(error)) from error
        return {"evaluation": spec.evaluation, "state": state.value}

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        """Do nothing, because finished rows are stored and the evaluation can be resumed."""


class _Progress:
    """Updates the job's progress with every row."""

    def __init__(self, job: ActiveJob, questions: int, finished: list[Row]) -> None:
        self._job, self._questions = job, questions
        self._rows = finished
        self._update()

    def add(self, row: Row) -> None:
        self._rows.append(row)
        self._update()

    def _update(self) -> None:
        scores = [right for row in self._rows if (right := correctness(row.figures)) is not None]
        progress = EvaluationProgress(
            asked=len(self._rows), questions=self._questions, right=fmean(scores) if scores else None
        )
        self._job.progress = progress.model_dump()

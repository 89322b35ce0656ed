"""Evaluations and fills of tables as jobs of the service. After a restart they go on with what is still open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from statistics import fmean

from pydantic import Field, JsonValue

from api.auth.keys import Keys
from api.auth.permissions import LOCAL_CALLER, Caller, Limits
from api.errors import JobFailed, LimitReached
from api.jobs.models import ActiveJob, JobKind, JobSpec, JobStatus
from api.jobs.runner import Jobs, free_job_id
from api.services.documents.collection_pool import CollectionPool
from api.services.evaluation.evaluations import Evaluations
from api.services.tables.tables import FillProgress, FillRequest, Tables
from base.models import FrozenModel
from multi_agent.errors import AgentError
from multi_agent.evaluation.records import Row
from multi_agent.evaluation.runner import correctness
from multi_agent.llm.models import Models
from multi_agent.settings.research import Budget
from multi_agent.tables.values import Cell, Table
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
        self, evaluations: Evaluations, keys: Keys, pool: CollectionPool, jobs: Jobs, make_models: Callable[[], Models]
    ) -> None:
        """``make_models`` makes the models of this process, which all jobs share."""
        self._evaluations, self._keys, self._pool, self._make_models = evaluations, keys, pool, make_models
        jobs.register(JobKind.EVALUATION, self)

    async def run(self, job: ActiveJob) -> JsonValue:
        """Ask the unfinished questions. Raises JobFailed."""
        spec, key = EvaluationJobSpec.model_validate_json(job.spec.content), job.spec.key
        try:
            result = await asyncio.to_thread(self._evaluations.store.get, spec.evaluation)
            finished = [row for row in result.rows if row.finished]
            progress = _Progress(job, len(result.questions), finished)
            library = await asyncio.to_thread(self._pool.library, result.evaluation.collection)
            limits = self._limits(key)  # runs side by side could each use the tokens that are left today
            state = await self._evaluations.resume(
                library, result, parallel=1 if limits.tokens_per_day else spec.parallel, budget=spec.budget,
                publish=progress.add, models=self._make_models(), pausing=job.is_paused, key=key, limits=limits,
            )  # fmt: skip
        except (AgentError, StoreError) as error:
            raise JobFailed(str(error)) from error
        return {"evaluation": spec.evaluation, "state": state.value}

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        """Do nothing, because finished rows are stored and the evaluation can be resumed."""

    def _limits(self, key: str) -> Limits:
        return self._keys.get(key).limits if key else Limits()


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


class TableJobSpec(FillRequest):
    """The stored specification of a fill."""

    table: str


class TableJobs:
    """The handler of fills."""

    def __init__(
        self, tables: Tables, keys: Keys, pool: CollectionPool, jobs: Jobs, make_models: Callable[[], Models]
    ) -> None:
        """``make_models`` makes the models of this process, which all jobs share."""
        self._tables, self._keys, self._pool, self._make_models = tables, keys, pool, make_models
        jobs.register(JobKind.TABLE, self)

    async def run(self, job: ActiveJob) -> JsonValue:
        """Fill the open cells and return the progress at the end. Raises JobFailed."""
        spec = TableJobSpec.model_validate_json(job.spec.content)

        def report(progress: FillProgress, document: str, cells: Sequence[Cell]) -> None:
            job.progress = progress.model_dump()

        try:
            caller = await asyncio.to_thread(self._caller, job.spec.key)
            table = await asyncio.to_thread(self._tables.store.get, spec.table)
            library = await asyncio.to_thread(self._pool.library, table.collection)
            ended = await self._tables.fill(library, table, spec, caller, on_cells=report, models=self._make_models())
        except (AgentError, StoreError, LimitReached) as error:
            raise JobFailed(str(error)) from error
        return ended.model_dump()

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        """Do nothing, because the cells of each call are stored at once."""

    def _caller(self, key_id: str) -> Caller:
        if not key_id:
            return LOCAL_CALLER
        key = self._keys.get(key_id)
        return Caller(key=key.id, name=key.name, rights=key.rights, limits=key.limits)


async def free_fill_id(jobs: Jobs, table: Table) -> str:
    """Return an unused id for the next fill of a table. Raises UsageError while it is being filled."""
    return await free_job_id(jobs, f"table_{table.name}_fill", "table")

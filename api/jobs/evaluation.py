"""Evaluations as jobs of the service. After a restart they resume with the first unanswered question."""

from __future__ import annotations

from statistics import fmean

from pydantic import Field, JsonValue

from api.auth.keys import Keys
from api.auth.permissions import Caller, Limits
from api.errors import JobFailed, JobNotFound, ResearchLost, UsageError
from api.jobs.models import ActiveJob, Job, JobKind, JobSpec, JobStatus
from api.jobs.runner import Jobs
from api.workers.contract import EvaluationJobSpec, EvaluationTask, Researcher
from base.models import FrozenModel
from multi_agent.errors import AgentError
from multi_agent.evaluation.records import Row
from multi_agent.evaluation.runner import correctness
from multi_agent.evaluation.store import EvaluationStore
from vectorstore.errors import StoreError


class EvaluationProgress(FrozenModel):
    """Progress of an evaluation."""

    asked: int
    questions: int
    right: float | None = Field(default=None, description="running mean score; None until an answer has been scored")


class EvaluationJobs:
    """The handler of evaluation jobs."""

    def __init__(self, store: EvaluationStore, keys: Keys, jobs: Jobs, researcher: Researcher) -> None:
        self._store, self._keys, self._researcher = store, keys, researcher
        jobs.register(JobKind.EVALUATION, self)

    async def run(self, job: ActiveJob) -> JsonValue:
        """Ask the unfinished questions. Raises JobFailed."""
        spec = EvaluationJobSpec.model_validate_json(job.spec.content)
        try:
            result = self._store.get(spec.evaluation)
            finished = [row for row in result.rows if row.finished]
            progress = _Progress(job, len(result.questions), finished)
            collection = result.evaluation.collection
            task = EvaluationTask(spec=spec, key=job.spec.key, limits=self._limits(job.spec.key))
            state = await self._researcher.evaluate(task, collection, progress.add, job.is_paused)
        except (AgentError, StoreError, ResearchLost) as error:
            raise JobFailed(str(error)) from error
        return {"evaluation": spec.evaluation, "state": state.value}

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        """Do nothing, because finished rows are stored and the evaluation can be resumed."""

    def _limits(self, key: str) -> Limits:
        return self._keys.get(key).limits if key else Limits()


async def submit_evaluation(jobs: Jobs, spec: EvaluationJobSpec, collection: str, caller: Caller, job_id: str) -> Job:
    """Submit an evaluation and return its job. Raises ServiceEnding."""
    await jobs.submit(
        JobSpec(
            id=job_id,
            kind=JobKind.EVALUATION,
            collection=collection,
            key=caller.key,
            content=spec.model_dump_json(),
        )
    )
    return await jobs.get(job_id)


async def free_job_id(jobs: Jobs, evaluation: str) -> str:
    """Return an unused id for the next job of an evaluation. Raises UsageError while one of its jobs is active."""
    number = 1
    while True:
        job_id = evaluation if number == 1 else f"{evaluation}-{number}"
        try:
            job = await jobs.get(job_id)
        except JobNotFound:
            return job_id
        if not job.status.ended:
            raise UsageError(f"The evaluation {evaluation!r} is active as job {job_id!r}. Wait for it, or cancel it.")
        number += 1


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

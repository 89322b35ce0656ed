"""Evaluations as jobs of the service. After a restart they resume with the first unanswered question."""

from __future__ import annotations

from statistics import fmean

from pydantic import Field, JsonValue

from api.bootstrap import Candor
from api.errors import JobFailed, ResearchLost
from api.jobs.models import ActiveJob, JobKind, JobSpec, JobStatus
from api.jobs.runner import Jobs
from api.services.evaluations import store_of
from api.workers.contract import EvaluationJobSpec, Researcher
from multi_agent.errors import AgentError
from multi_agent.evaluation.records import Row
from multi_agent.evaluation.runner import rightness
from vectorstore.errors import StoreError
from vectorstore.models import FrozenModel


class EvaluationProgress(FrozenModel):
    """Progress of an evaluation."""

    asked: int
    questions: int
    right: float | None = Field(default=None, description="running mean; None until an answer has been scored")


class EvaluationJobs:
    """The handler of evaluation jobs."""

    def __init__(self, candor: Candor, jobs: Jobs, researcher: Researcher) -> None:
        self._candor, self._researcher = candor, researcher
        jobs.register(JobKind.EVALUATION, self)

    async def run(self, job: ActiveJob) -> JsonValue:
        """Ask the unfinished questions. Raises JobFailed."""
        spec = EvaluationJobSpec.model_validate_json(job.spec.content)
        try:
            result = store_of(self._candor).get(spec.evaluation)
            finished = [row for row in result.rows if row.finished]
            progress = _Progress(job, len(result.questions), finished)
            collection = result.evaluation.collection
            state = await self._researcher.evaluate(spec, collection, progress.add, job.is_paused)
        except (AgentError, StoreError, ResearchLost) as error:
            raise JobFailed(str(error)) from error
        return {"evaluation": spec.evaluation, "state": state.value}

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        """Do nothing: finished rows are stored, and the evaluation can be resumed."""


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
        scores = [right for row in self._rows if (right := rightness(row.figures)) is not None]
        progress = EvaluationProgress(
            asked=len(self._rows), questions=self._questions, right=fmean(scores) if scores else None
        )
        self._job.progress = progress.model_dump()

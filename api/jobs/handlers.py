"""Ingests, evaluations and fills of tables as jobs of the service. After a restart, they go on with what is open."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from statistics import fmean

from pydantic import Field, JsonValue
from sqlalchemy.exc import SQLAlchemyError

from api.auth.callers import Callers
from api.auth.permissions import LOCAL_CALLER, Caller
from api.errors import JobMustWait, JobNotFound, ServiceEnding
from api.jobs.models import ActiveJob, Job, JobHandler, JobKind, JobStatus
from api.jobs.runner import Jobs, new_job_id
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.ingest import IngestService, run_ingest_job
from api.services.evaluation.evaluations import Evaluations
from api.services.tables.tables import FillProgress, FillRequest, Tables
from api.storage.database import is_away
from base.models import FrozenModel
from ingest.errors import IngestUnderWay, LedgerUnavailable
from ingest.ledger.sources import SourceTable
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport, Progress
from multi_agent.evaluation.runner import correctness
from multi_agent.evaluation.store import Row
from multi_agent.llm.models import Models
from multi_agent.settings.research import Budget
from multi_agent.tables.values import Cell, Table
from vectorstore.errors import StoreKeyRejected

log = logging.getLogger(__name__)

_OPEN, _MANY = (JobStatus.WAITING, JobStatus.RUNNING), 10_000
_LOOK_S = 30.0  # between two looks at the schedule
_AWAY_S = 60.0
"""How long an ingest waits for a database that is away, for example because Postgres restarts."""


class IngestJobs(JobHandler):
    """The handler of ingest jobs. The ledger records which files are already done."""

    def __init__(self, ingest: IngestService, pool: CollectionPool, jobs: Jobs) -> None:
        self._ingest, self._pool = ingest, pool
        self._away_since: dict[str, float] = {}
        jobs.register(JobKind.INGEST, self)

    async def run(self, job: ActiveJob) -> JsonValue:
        """Ingest and return the report.

        Raises IngestError, StoreError, UsageError, and JobMustWait while another process ingests, Postgres is away, or
        the store rejects the key.
        """
        spec, stop = IngestRequest.model_validate_json(job.spec.content), threading.Event()

        def report_progress(progress: Progress) -> None:
            job.progress = progress.model_dump(mode="json")
            self._away_since.pop(job.spec.id, None)

        def ingest() -> IngestReport:
            return run_ingest_job(self._ingest, self._pool, spec, report_progress, stop.is_set)

        ingesting = asyncio.create_task(asyncio.to_thread(ingest))
        try:
            report = await asyncio.shield(ingesting)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait({ingesting})
            raise
        except IngestUnderWay as error:  # a command, or a process that died on another machine less than a minute ago
            self._away_since.pop(job.spec.id, None)
            raise JobMustWait(str(error)) from error
        except StoreKeyRejected as error:  # the next process that has a key goes on
            raise JobMustWait(f"{error} Start this process again.") from error
        except (LedgerUnavailable, SQLAlchemyError) as error:
            if self._may_wait(job.spec.id, error):
                raise JobMustWait(f"The database is away; the ingest goes on when it is back. {error}") from error
            raise
        return report.model_dump(mode="json")

    def _may_wait(self, job_id: str, error: Exception) -> bool:
        """Return whether the database is away, and has not been for long."""
        now = time.monotonic()
        if is_away(error) and now - self._away_since.setdefault(job_id, now) < _AWAY_S:
            return True
        self._away_since.pop(job_id, None)
        return False


async def submit_ingest(
    jobs: Jobs,
    spec: IngestRequest,
    caller: Caller,
    idempotency_key: str | None = None,
    expect: Callable[[IngestRequest], None] = lambda _: None,
) -> Job:
    """Submit an ingest and return its job. The same idempotency key of the same caller returns the same job.

    ``expect`` is called before a new job exists. Raises KeyReused, ServiceEnding.
    """
    job_id = new_job_id("ingest", caller, idempotency_key)
    try:
        await jobs.get(job_id)
    except JobNotFound:
        await asyncio.to_thread(expect, spec)
    return await jobs.begin(JobKind.INGEST, job_id, spec.collection, caller, spec)


async def sync_on_schedule(sources: SourceTable, jobs: Jobs) -> None:
    """Submit the sync of each source that is due, until cancelled.

    Services that share jobs give the same sync the same id, so that only one of them makes a job of it.
    """
    latest: dict[str, str] = {}  # ids of jobs, by source
    while True:
        try:
            known = await asyncio.to_thread(sources.list)
            due = [each for each in known if each.next_sync and each.next_sync <= datetime.now(UTC)]
            listed = await jobs.list(JobKind.INGEST, _OPEN, None, _MANY, lambda _: True) if due else []
            for source in due:
                name = f"{source.collection}/{source.name}"
                if latest.get(name) not in {job.id for job in listed}:
                    slot = time.time() // source.interval.total_seconds()  # in case that a job ends without a sync
                    request = IngestRequest(collection=source.collection, source=source.name)
                    job = await submit_ingest(jobs, request, LOCAL_CALLER, f"{name} {source.synced_at} {slot:.0f}")
                    latest[name] = job.id
        except ServiceEnding:
            return
        except (LedgerUnavailable, SQLAlchemyError) as error:
            log.warning("The schedule of the sources cannot be read, will retry later: %s", error)
        except Exception:  # else a fault in one sync would end the schedule of all
            log.exception("A source could not be synced on its schedule, will retry later")
        await asyncio.sleep(_LOOK_S)


class EvaluationJobSpec(FrozenModel):
    """The stored specification of an evaluation job. The evaluation itself is stored separately."""

    evaluation: str
    parallel: int = Field(default=4, ge=1, le=256)
    budget: Budget = Budget()


class EvaluationJobs(JobHandler):
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
        """Ask the unfinished questions. Raises AgentError, StoreError, UsageError."""
        spec, key = EvaluationJobSpec.model_validate_json(job.spec.content), job.spec.key
        result = await asyncio.to_thread(self._evaluations.store.get, spec.evaluation)
        rows = [row for row in result.rows if row.finished]

        def publish(row: Row | None = None) -> None:
            rows.extend([row] if row else [])
            _report_rows(job, len(result.questions), rows)

        publish()
        library = await asyncio.to_thread(self._pool.library, result.evaluation.collection)
        # Runs side by side could each use the tokens that are left today.
        limits = await asyncio.to_thread(lambda: self._callers.find(key).limits)
        state = await self._evaluations.resume(
            library, result, parallel=1 if limits.tokens_per_day else spec.parallel, budget=spec.budget,
            publish=publish, models=self._make_models(), pausing=job.is_paused, key=key, limits=limits,
        )  # fmt: skip
        return {"evaluation": spec.evaluation, "state": state.value}


def _report_rows(job: ActiveJob, questions: int, rows: list[Row]) -> None:
    """Report the numbers of answers and questions, and the mean score; None until an answer has a score."""
    scores = [right for row in rows if (right := correctness(row.figures)) is not None]
    job.progress = {"asked": len(rows), "questions": questions, "right": fmean(scores) if scores else None}


class TableJobSpec(FillRequest):
    """The stored specification of a fill."""

    table: str


class TableJobs(JobHandler):
    """The handler of fills."""

    def __init__(
        self, tables: Tables, callers: Callers, pool: CollectionPool, jobs: Jobs, make_models: Callable[[], Models]
    ) -> None:
        """``make_models`` makes the models of this process, which all jobs share."""
        self._tables, self._callers, self._pool, self._make_models = tables, callers, pool, make_models
        jobs.register(JobKind.TABLE, self)

    async def run(self, job: ActiveJob) -> JsonValue:
        """Fill the open cells and return the progress at the end. Raises what ``Tables.fill`` raises."""
        spec = TableJobSpec.model_validate_json(job.spec.content)

        def report(progress: FillProgress, document: str, cells: Sequence[Cell]) -> None:
            job.progress = progress.model_dump()

        caller = await asyncio.to_thread(self._callers.find, job.spec.key)
        table = await asyncio.to_thread(self._tables.store.get, spec.table)
        library = await asyncio.to_thread(self._pool.library, table.collection)
        ended = await self._tables.fill(library, table, spec, caller, on_cells=report, models=self._make_models())
        return ended.model_dump()


def fills(table: Table) -> str:
    """Return the id of the first fill of a table, with which the ids of all its fills begin."""
    return f"table_{table.name}_fill"

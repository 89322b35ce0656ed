"""Ingests as jobs of the service. They run in a thread, can be cancelled, and resume after a restart."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from pydantic import JsonValue
from sqlalchemy.exc import SQLAlchemyError

from api.auth.permissions import Caller
from api.errors import JobFailed, JobMustWait, JobNotFound, UsageError
from api.jobs.models import ActiveJob, Job, JobKind, JobSpec, JobStatus
from api.jobs.runner import Jobs, new_job_id
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.ingest import IngestJobSpec, IngestService, run_ingest_job
from api.storage.database import is_away
from ingest.errors import IngestError, IngestUnderWay, LedgerUnavailable
from ingest.pipeline.reports import IngestReport, Progress
from vectorstore.errors import StoreError

_AWAY_S = 60.0
"""How long an ingest waits for a database that is away, for example because Postgres restarts."""


class IngestJobs:
    """The handler of ingest jobs. The ledger records which files are already done."""

    def __init__(self, ingest: IngestService, pool: CollectionPool, jobs: Jobs) -> None:
        self._ingest, self._pool = ingest, pool
        self._away_since: dict[str, float] = {}
        jobs.register(JobKind.INGEST, self)

    async def run(self, job: ActiveJob) -> JsonValue:
        """Ingest and return the report.

        Raises JobFailed, and JobMustWait while another process ingests or Postgres is away.
        """
        spec, stop = IngestJobSpec.model_validate_json(job.spec.content), threading.Event()

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
        except (LedgerUnavailable, SQLAlchemyError) as error:
            raise self._must_wait(job.spec.id, error) from error
        except (IngestError, StoreError, UsageError) as error:
            raise JobFailed(str(error)) from error
        return report.model_dump(mode="json")

    def _must_wait(self, job_id: str, error: Exception) -> Exception:
        """Return JobMustWait while the database is away, and the error or JobFailed if that does not help."""
        now = time.monotonic()
        if is_away(error) and now - self._away_since.setdefault(job_id, now) < _AWAY_S:
            return JobMustWait(f"The database is away; the ingest goes on when it is back. {error}")
        self._away_since.pop(job_id, None)
        return JobFailed(str(error)) if isinstance(error, LedgerUnavailable) else error

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        """Do nothing, because an ingest stores only finished files."""


async def submit_ingest(
    jobs: Jobs,
    spec: IngestJobSpec,
    caller: Caller,
    idempotency_key: str | None = None,
    expect: Callable[[IngestJobSpec], None] = lambda _: None,
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

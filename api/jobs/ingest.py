"""Ingests as jobs of the service. They run in a thread, can be cancelled, and resume after a restart."""

from __future__ import annotations

import asyncio
import threading

from pydantic import JsonValue

from api.auth.permissions import Caller
from api.errors import JobFailed, JobMustWait, UsageError
from api.jobs.models import ActiveJob, Job, JobKind, JobSpec, JobStatus
from api.jobs.runner import Jobs, new_job_id
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.ingest import IngestJobSpec, IngestService, run_ingest_job
from ingest.errors import IngestError, IngestUnderWay
from ingest.pipeline.reports import IngestReport, Progress
from vectorstore.errors import StoreError


class IngestJobs:
    """The handler of ingest jobs. The ledger records which files are already done."""

    def __init__(self, ingest: IngestService, pool: CollectionPool, jobs: Jobs) -> None:
        self._ingest, self._pool = ingest, pool
        jobs.register(JobKind.INGEST, self)

    async def run(self, job: ActiveJob) -> JsonValue:
        """Ingest and return the report. Raises JobFailed, and JobMustWait while another process ingests."""
        spec, stop = IngestJobSpec.model_validate_json(job.spec.content), threading.Event()

        def report_progress(progress: Progress) -> None:
            job.progress = progress.model_dump(mode="json")

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
            raise JobMustWait(str(error)) from error
        except (IngestError, StoreError, UsageError) as error:
            raise JobFailed(str(error)) from error
        return report.model_dump(mode="json")

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        """Do nothing, because an ingest stores only finished files."""


async def submit_ingest(jobs: Jobs, spec: IngestJobSpec, caller: Caller, idempotency_key: str | None = None) -> Job:
    """Submit an ingest and return its job. The same idempotency key of the same caller returns the same job.

    Raises KeyReused, ServiceEnding.
    """
    job_id = new_job_id("ingest", caller, idempotency_key)
    return await jobs.begin(JobKind.INGEST, job_id, spec.collection, caller, spec)

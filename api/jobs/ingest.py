"""Ingesting as a job of the service: in a thread, cancelled between two files, gone on with after a restart."""

from __future__ import annotations

import asyncio
import threading

from pydantic import JsonValue

from api.bootstrap import Candor
from api.errors import JobFailed, UsageError
from api.jobs.runner import ActiveJob, JobKind, Jobs, JobStatus, Order
from api.services.collection_pool import CollectionPool
from api.services.ingest import IngestJobSpec, ingest_for_service
from ingest.errors import IngestError
from ingest.pipeline.reports import IngestReport, Progress
from vectorstore.errors import StoreError


class IngestJobs:
    """How the service's jobs of ingesting are done. What was finished before, the ledger knows."""

    def __init__(self, candor: Candor, pool: CollectionPool, jobs: Jobs) -> None:
        self._candor, self._pool = candor, pool
        jobs.offer(JobKind.INGEST, self)

    async def work(self, taken: ActiveJob) -> JsonValue:
        """Ingest; gives the report."""
        order, stop = IngestJobSpec.model_validate_json(taken.order.content), threading.Event()

        def tell(progress: Progress) -> None:
            taken.progress = progress.model_dump(mode="json")

        def ingest() -> IngestReport:
            return ingest_for_service(self._candor, self._pool, order, tell, stop.is_set)

        ingesting = asyncio.create_task(asyncio.to_thread(ingest))
        try:
            report = await asyncio.shield(ingesting)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait({ingesting})
            raise
        except (IngestError, StoreError, UsageError) as error:
            raise JobFailed(str(error)) from error
        return report.model_dump(mode="json")

    async def abandon(self, order: Order, status: JobStatus, reason: str) -> None:
        """Nothing of an ingest is kept outside its job but what it has finished."""

"""Fills of tables as jobs of the service. After a restart they go on with the cells that are still open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pydantic import JsonValue

from api.auth.callers import Callers
from api.errors import JobFailed, LimitReached
from api.jobs.models import ActiveJob, JobKind, JobSpec, JobStatus
from api.jobs.runner import Jobs, free_job_id
from api.services.documents.collection_pool import CollectionPool
from api.services.tables.tables import FillProgress, FillRequest, Tables
from multi_agent.errors import AgentError
from multi_agent.llm.models import Models
from multi_agent.tables.values import Cell, Table
from vectorstore.errors import StoreError


class TableJobSpec(FillRequest):
    """The stored specification of a fill."""

    table: str


class TableJobs:
    """The handler of fills."""

    def __init__(
        self, tables: Tables, callers: Callers, pool: CollectionPool, jobs: Jobs, make_models: Callable[[], Models]
    ) -> None:
        """``make_models`` makes the models of this process, which all jobs share."""
        self._tables, self._callers, self._pool, self._make_models = tables, callers, pool, make_models
        jobs.register(JobKind.TABLE, self)

    async def run(self, job: ActiveJob) -> JsonValue:
        """Fill the open cells and return the progress at the end. Raises JobFailed."""
        spec = TableJobSpec.model_validate_json(job.spec.content)

        def report(progress: FillProgress, document: str, cells: Sequence[Cell]) -> None:
            job.progress = progress.model_dump()

        try:
            caller = await asyncio.to_thread(self._callers.find, job.spec.key)
            table = await asyncio.to_thread(self._tables.store.get, spec.table)
            library = await asyncio.to_thread(self._pool.library, table.collection)
            ended = await self._tables.fill(library, table, spec, caller, on_cells=report, models=self._make_models())
        except (AgentError, StoreError, LimitReached) as error:
            raise JobFailed(str(error)) from error
        return ended.model_dump()

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        """Do nothing, because the cells of each call are stored at once."""


async def free_fill_id(jobs: Jobs, table: Table) -> str:
    """Return an unused id for the next fill of a table. Raises UsageError while it is being filled."""
    return await free_job_id(jobs, f"table_{table.name}_fill", "table")

"""Durable jobs: the service runs them in turn and resumes unfinished ones after a restart or crash.

Every job is a DBOS workflow. DBOS stores it (in ``jobs.db`` in the home folder, or in Postgres), takes it from its
queue when there is room, and hands it out again after its process has ended. The ``JobHandler`` of a kind runs its jobs
in the service's event loop, and knows which work is already done.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from contextvars import Context
from functools import partial
from itertools import count

from pydantic import JsonValue
from sqlalchemy.exc import SQLAlchemyError

from api.auth.permissions import Caller
from api.errors import JobFailed, KeyReused, NotOurs, ServiceEnding
from api.jobs.models import ActiveJob, Job, JobHandler, JobKind, JobSpec, JobStatus, Outcome
from api.jobs.queue import JobQueue

log = logging.getLogger(__name__)

_PAGE = 50
_STORE_AGAIN_S = 2.0
_NOUNS = {JobKind.RESEARCH: "run", JobKind.INGEST: "ingest", JobKind.EVALUATION: "evaluation"}


class Jobs:
    """All jobs of the service. Belongs to one event loop, and to one process at a time."""

    def __init__(self, queue: JobQueue) -> None:
        self._queue = queue
        self._handlers: dict[JobKind, JobHandler] = {}
        self._slots = {kind: asyncio.Semaphore(limit) for kind, limit in queue.limits.items()}
        self._collections: dict[str, asyncio.Lock] = {}  # one ingest at a time into each
        self._active: dict[str, ActiveJob] = {}
        self._cancelled: set[str] = set()
        self._unstored: dict[str, Outcome] = {}
        self._storing: set[asyncio.Task[None]] = set()
        self._closing = False

    def register(self, kind: JobKind, handler: JobHandler) -> None:
        """Set the handler of a kind of job. Call it before ``start``."""
        self._handlers[kind] = handler

    async def start(self) -> None:
        """Start running jobs and resume unfinished ones. Raises HomeError, SQLAlchemyError."""
        await self._queue.launch(self._execute)

    async def submit(self, spec: JobSpec) -> bool:
        """Submit a job. Return False if a job with the same id and request exists.

        Raises KeyReused if a job with the same id made another request, ServiceEnding while the service stops.
        """
        if self._closing:
            raise ServiceEnding
        new = await self._queue.enqueue(spec)
        if not new and not spec.same_request((await self._queue.get(spec.id)).spec):
            raise KeyReused("This Idempotency-Key was already used with a different request.")
        return new

    async def get(self, job_id: str) -> Job:
        """Return a job. Raises JobNotFound."""
        return self._with_progress((await self._queue.get(job_id)).job)

    async def list(
        self, kind: JobKind | None, among: Collection[JobStatus], collection: str | None, limit: int,
        readable: Callable[[str], bool],
    ) -> list[Job]:  # fmt: skip
        """Return the latest jobs in the states ``among`` (all if empty) over ``readable`` collections, newest first."""
        wanted = set(among or JobStatus)
        jobs: list[Job] = []
        page = max(limit, _PAGE)
        for offset in count(0, page):
            found = await self._queue.list([kind] if kind else list(JobKind), wanted, page, offset)
            jobs += [
                job for job in map(self._with_progress, found)
                if job.status in wanted and collection in (None, job.collection) and readable(job.collection)
            ]  # fmt: skip
            if len(found) < page or len(jobs) >= limit:
                break
        jobs.sort(key=lambda job: job.created_at, reverse=True)  # on SQLite, DBOS orders by whole seconds
        return jobs[:limit]

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job; an ended job stays unchanged. Raises JobNotFound; NotOurs if another service runs it."""
        stored = await self._queue.get(job_id)
        job = stored.job
        if active := self._active.get(job.id):
            await self._stop(active)
        elif not job.status.ended:
            if job.status is JobStatus.RUNNING and stored.executor != self._queue.executor:
                raise NotOurs(f"Job {job.id!r} belongs to another service on this database; cancel it there.")
            self._cancelled.add(job.id)  # DBOS may be about to hand it to this process
            await self._handlers[job.kind].on_abort(stored.spec, JobStatus.CANCELLED, _never_started(job.kind))
            await self._queue.cancel(job.id)
        return await self.get(job.id)

    async def pause(self) -> None:
        """Stop active jobs, which resume at the next start, and accept no new ones. Idempotent."""
        self._closing = True
        for storing in self._storing:
            storing.cancel()
        for active in self._active.values():
            active.paused = True
        await asyncio.gather(*(self._stop(active) for active in self._active.values()))

    async def close(self) -> None:
        """Pause, then close the queue's database."""
        await self.pause()
        await self._queue.destroy()

    # One job

    async def _execute(self, content: str) -> str:
        """Run the workflow of a job in DBOS's task, and return its ``Outcome`` as JSON.

        A cancelled task leaves the workflow unfinished in the database; DBOS hands it out again at the next start.
        """
        spec = JobSpec.model_validate_json(content)
        if self._closing or spec.id in self._cancelled:
            raise asyncio.CancelledError
        workflow = asyncio.current_task()
        assert workflow is not None
        workflow.add_done_callback(partial(self._ended, spec))  # after DBOS has stored the outcome
        if outcome := self._unstored.get(spec.id):
            return outcome.model_dump_json()
        # An empty context: in the workflow's context, DBOS would record its calls by the handler as workflow steps.
        active = self._active[spec.id] = ActiveJob(spec, workflow)
        active.task = asyncio.create_task(self._run(active), name=spec.id, context=Context())
        outcome = self._unstored[spec.id] = await self._outcome(active)
        return outcome.model_dump_json()

    def _ended(self, spec: JobSpec, workflow: asyncio.Task[str]) -> None:
        """Forget a job whose outcome DBOS has stored. Otherwise, store it later."""
        self._active.pop(spec.id, None)
        if workflow.cancelled() or workflow.exception() is None:
            self._unstored.pop(spec.id, None)
        elif not self._closing:
            storing = asyncio.create_task(self._store_again(spec), context=Context())
            self._storing.add(storing)
            storing.add_done_callback(self._storing.discard)

    async def _store_again(self, spec: JobSpec) -> None:
        """Store the end of a job that could not be stored, for example because the disk was full."""
        while True:
            await asyncio.sleep(_STORE_AGAIN_S)
            try:
                job = (await self._queue.get(spec.id)).job
                if not job.status.ended:
                    return await self._queue.resume(spec)
                self._unstored.pop(spec.id, None)
                return await self._handlers[spec.kind].on_abort(spec, job.status, job.error or _never_started(job.kind))
            except SQLAlchemyError as error:
                log.warning("The end of job %s cannot be stored; it is tried again: %s", spec.id, error)

    async def _run(self, active: ActiveJob) -> JsonValue:
        """Run the handler when a slot is free. DBOS's count of running workflows lags, so excess jobs wait here.

        An ingest first waits for the others into its collection, without a slot. DBOS hands out a few of each key, so
        that the keys take turns here.
        """
        kind = active.spec.kind
        async with AsyncExitStack() as held:
            if kind is JobKind.INGEST:
                await held.enter_async_context(self._collections.setdefault(active.spec.collection, asyncio.Lock()))
            await held.enter_async_context(self._slots[kind])
            active.started = True
            return await self._handlers[kind].run(active)

    async def _outcome(self, active: ActiveJob) -> Outcome:
        spec, handler = active.spec, self._handlers[active.spec.kind]
        await asyncio.wait({active.task})
        if active.task.cancelled():
            if active.paused:
                raise asyncio.CancelledError
            if not active.started:
                await handler.on_abort(spec, JobStatus.CANCELLED, _never_started(spec.kind))
            return Outcome(status=JobStatus.CANCELLED, progress=active.progress)
        error = active.task.exception()
        if error is None:
            return Outcome(status=JobStatus.DONE, result=active.task.result(), progress=active.progress)
        if not isinstance(error, JobFailed):
            log.error("Job %s failed with an unexpected error", spec.id, exc_info=error)
            await handler.on_abort(spec, JobStatus.FAILED, f"Unexpected error in Candor: {error!r}")
        return Outcome(status=JobStatus.FAILED, error=str(error) or repr(error), progress=active.progress)

    async def _stop(self, active: ActiveJob) -> None:
        """Cancel an active job, and wait until DBOS has stored its outcome."""
        active.task.cancel()
        await asyncio.wait({active.workflow})

    def _with_progress(self, job: Job) -> Job:
        """Return the job with its current progress if it runs in this process; the database has only the last one.

        A job that waits here for a slot is still waiting, though DBOS has started its workflow.
        """
        active = self._active.get(job.id)
        if active is None or job.status.ended:
            return job
        if not active.started:
            return job.model_copy(update={"status": JobStatus.WAITING, "started_at": None})
        return job.model_copy(update={"progress": active.progress})


def new_job_id(prefix: str, caller: Caller, idempotency_key: str | None) -> str:
    """Return a random id or, with an idempotency key, an id derived from the caller's API key and that key."""
    if idempotency_key is None:
        return f"{prefix}_{secrets.token_hex(6)}"
    name = f"{prefix}:{len(caller.key)}:{caller.key}:{idempotency_key}"  # the length makes the encoding unambiguous
    return f"{prefix}_{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _never_started(kind: JobKind) -> str:
    return f"The {_NOUNS[kind]} was cancelled before it started."

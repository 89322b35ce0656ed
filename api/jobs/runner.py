"""Durable jobs: services and workers run them in turn and resume unfinished ones after a restart or crash.

Every job is a DBOS workflow. DBOS stores it (in ``jobs.db`` in the home folder, or in Postgres) and takes it from its
queue when there is room. After its process has ended, the next start of the service hands it out again, or one of the
``Peers`` that share the jobs. The ``JobHandler`` of a kind runs its jobs in the event loop of the process, and knows
which work is already done.
"""

import asyncio
import hashlib
import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack, suppress
from contextvars import Context
from functools import partial
from itertools import count

from pydantic import JsonValue
from sqlalchemy.exc import SQLAlchemyError

from api.auth.permissions import Caller
from api.errors import (
    JobFailed,
    JobMustWait,
    JobNotFound,
    KeyReused,
    NotOurs,
    Refused,
    ServiceEnding,
    UsageError,
    UserNotFound,
)
from api.jobs.models import ActiveJob, Job, JobHandler, JobKind, JobSpec, JobState, JobStatus, Outcome
from api.jobs.peers import Peers, Processes
from api.jobs.queue import JobQueue, StoredJob
from api.jobs.service_worker import ServiceWorker
from base.errors import Explained
from base.models import FrozenModel

log = logging.getLogger(__name__)

_PAGE = 50
_STORE_AGAIN_S = 2.0
_TRY_AGAIN_S = 0.5
_STORE_S = 5.0
_CANCEL_S = 5.0
_CANCEL_POLL_S = 0.2
_DEATHS = 2  # of processes that ran a job, after which it fails
_FATAL = (
    "The research process ended while it ran this {noun}, and so did the next one, so it is not tried again. It may be "
    "the cause, for example because it exhausts memory. See the service's log."
)
_WITHDRAWN = "The key of this {noun} was revoked, or its user disabled, before it ran. Send it again with another key."
_TURN = "another job that ran when the research process ended; they run one after the other, to find the cause"
_NOUNS = {JobKind.RESEARCH: "run", JobKind.INGEST: "ingest", JobKind.EVALUATION: "evaluation", JobKind.TABLE: "table"}


class Jobs:
    """The jobs that this process submits and runs. Belongs to one event loop. Without peers, the process is alone."""

    def __init__(
        self,
        queue: JobQueue,
        peers: Peers | None = None,
        worker: ServiceWorker | None = None,
        withdrawn: Callable[[str], bool] = lambda _: False,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        """``worker`` runs the jobs of its kinds. Jobs of a key or user that is ``withdrawn`` are refused.

        ``prepare`` is called before each job starts.
        """
        self._prepare = prepare
        self._queue, self._peers, self._worker, self._withdrawn = queue, peers, worker, withdrawn
        self._handlers: dict[JobKind, JobHandler] = {}
        self._slots = {kind: asyncio.Semaphore(limit) for kind, limit in queue.limits.items()}
        self._collections: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)  # ingests in turn
        self._turn = asyncio.Lock()  # of jobs that a worker ended with: one at a time shows which one is the cause
        self._checking = asyncio.Lock()  # one after the other, so that they start in the order of the queue
        self._active: dict[str, ActiveJob] = {}
        self._cancelled: set[str] = set()
        self._unstored: dict[str, Outcome] = {}
        self._storing: set[asyncio.Task[None]] = set()
        self._closing = False
        self._suspended = False
        self._resumed = asyncio.Event()

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

    async def begin(self, kind: JobKind, job_id: str, collection: str, caller: Caller, content: FrozenModel) -> Job:
        """Submit a job of a caller and return it. Raises what ``submit`` raises."""
        text = content.model_dump_json()
        await self.submit(JobSpec(id=job_id, kind=kind, collection=collection, key=caller.key, content=text))
        return await self.get(job_id)

    async def get(self, job_id: str) -> Job:
        """Return a job. Raises JobNotFound."""
        [job] = await self._with_progress([(await self._queue.get(job_id)).job])
        return job

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
                job for job in await self._with_progress(found)
                if job.status in wanted and collection in (None, job.collection) and readable(job.collection)
            ]  # fmt: skip
            if len(found) < page or len(jobs) >= limit:
                break
        jobs.sort(key=lambda job: job.created_at, reverse=True)  # on SQLite, DBOS orders by whole seconds
        return jobs[:limit]

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job; an ended job stays unchanged.

        Raises JobNotFound; NotOurs if another service runs it and does not share its jobs. A job of another process may
        still be running when this returns; that process ends it within a second or two.
        """
        stored = await self._queue.get(job_id)
        job = stored.job
        if active := self._active.get(job.id):
            await self._stop(active)
        elif job.status.ended:
            pass
        elif self._worker and job.kind in self._worker.kinds:
            await self._worker.cancel(job.id)
        elif self._peers:
            await self._cancel_elsewhere(stored, self._peers)
        else:
            if job.status is JobStatus.RUNNING and stored.executor != self._queue.executor:
                raise NotOurs(f"Job {job.id!r} belongs to another service on this database; cancel it there.")
            self._cancelled.add(job.id)  # DBOS may be about to hand it to this process
            await self._handlers[job.kind].on_abort(stored.spec, JobStatus.CANCELLED, _never_started(job.kind))
            await self._queue.cancel(job.id)
        return await self.get(job.id)

    async def pause(self) -> None:
        """Stop active jobs, which resume later, here or elsewhere, and accept no new ones. Idempotent."""
        self._closing = True
        self._resumed.set()
        for storing in self._storing:
            storing.cancel()
        await asyncio.gather(self._pause_active(), *([self._worker.stop()] if self._worker else []))

    async def close(self) -> None:
        """Pause, then close the queue's database."""
        await self.pause()
        await self._queue.destroy()

    # For Peers

    def states(self) -> dict[str, JobState]:
        """Return the states of the active jobs."""
        return {
            job_id: JobState(started=active.started, progress=active.progress, waits_for=active.waits_for)
            for job_id, active in self._active.items()
        }

    async def cancel_here(self, job_id: str) -> None:
        """Cancel a job if it is active in this process."""
        if active := self._active.get(job_id):
            await self._stop(active)

    async def suspend(self) -> None:
        """Stop active jobs, which other processes may continue, and start none until ``resume``."""
        self._suspended = True
        self._resumed.clear()
        await self._pause_active()

    def resume(self) -> None:
        """Start jobs again."""
        self._suspended = False
        self._resumed.set()

    async def _cancel_elsewhere(self, stored: StoredJob, peers: Peers) -> None:
        """Cancel a job that is waiting, or that another process runs."""
        job = stored.job
        await peers.call(Processes.mark_cancelled, job.id)
        if job.status is JobStatus.RUNNING and await peers.call(Processes.runs, stored.executor):
            await self._wait_for_end(job.id)
            return
        await self._queue.cancel(job.id)
        stored = await self._queue.get(job.id)
        just_started = stored.job.started_at is not None and await peers.call(Processes.runs, stored.executor)
        if not just_started:
            await self._handlers[job.kind].on_abort(stored.spec, JobStatus.CANCELLED, _never_started(job.kind))
            await peers.call(Processes.forget, job.id)

    async def _wait_for_end(self, job_id: str) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_CANCEL_S):
                while not (await self._queue.get(job_id)).job.status.ended:  # noqa: ASYNC110 (it ends elsewhere)
                    await asyncio.sleep(_CANCEL_POLL_S)

    # One job

    async def _execute(self, content: str) -> str:
        """Run the workflow of a job in DBOS's task, and return its ``Outcome`` as JSON.

        A cancelled task leaves the workflow unfinished in the database; DBOS hands it out again at the next start.
        """
        spec = JobSpec.model_validate_json(content)
        if not await self._may_start(spec.id):
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

    async def _may_start(self, job_id: str) -> bool:
        """Return whether to run a job that DBOS hands out. While the jobs are suspended, wait until they resume.

        DBOS may hand out a job after this process has joined again and before its jobs resume. Nobody would hand it out
        again. A job from before that is handed out again, to any process, so two workflows of it may wait here.
        """
        while self._suspended and not self._closing:
            await self._resumed.wait()
            # In an empty context, because DBOS would record the call as a step of the workflow.
            if not await asyncio.create_task(self._queue.is_running_here(job_id), context=Context()):
                return False
        late = self._peers is not None and self._peers.stale
        return not (self._closing or late or job_id in self._cancelled or job_id in self._active)

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
                if not job.status.ended and await self._queue.resume(spec.id):
                    return None
                self._unstored.pop(spec.id, None)
                if not job.status.ended:  # another process has taken it over
                    return None
                return await self._handlers[spec.kind].on_abort(spec, job.status, job.error or _never_started(job.kind))
            except SQLAlchemyError as error:
                log.warning("The end of job %s cannot be stored; it is tried again: %s", spec.id, error)

    async def _run(self, active: ActiveJob) -> JsonValue:
        """Run the handler when a slot is free. DBOS's count of running workflows lags, so excess jobs wait here.

        An ingest first waits for the others into its collection, without a slot. DBOS hands out a few of each key, so
        that the keys take turns here. While a job must wait for something else, such as the ingest of a command or of
        another machine, it holds neither, and is tried again.
        """
        kind = active.spec.kind
        async with self._checking:
            suspected = await self._check(active.spec)
        while True:
            async with AsyncExitStack() as held:
                if suspected:
                    await self._queue.set_turn(active.spec.id, has_turn=False)
                    active.waits_for = _TURN
                    await held.enter_async_context(self._turn)
                    await self._queue.set_turn(active.spec.id, has_turn=True)
                if kind is JobKind.INGEST:
                    await held.enter_async_context(self._collections[active.spec.collection])
                await held.enter_async_context(self._slots[kind])
                with suppress(UserNotFound):
                    if await asyncio.to_thread(self._withdrawn, active.spec.key):
                        raise JobFailed(_WITHDRAWN.format(noun=_NOUNS[kind]))
                active.started, active.waits_for = True, None
                await asyncio.to_thread(self._prepare)
                try:
                    return await self._handlers[kind].run(active)
                except JobMustWait as reason:
                    active.started, active.waits_for = False, str(reason)
            await asyncio.sleep(_TRY_AGAIN_S)

    async def _check(self, spec: JobSpec) -> bool:
        """Return whether the job may be the one that ended a process.

        Raises CancelledError if somebody cancelled it, JobFailed if it ended two processes.
        """
        if self._peers and await self._peers.is_cancelled(spec.id):
            raise asyncio.CancelledError
        deaths = (await self._queue.get(spec.id)).deaths
        if deaths >= _DEATHS:
            raise JobFailed(_FATAL.format(noun=_NOUNS[spec.kind]))
        return deaths > 0

    async def _outcome(self, active: ActiveJob) -> Outcome:
        spec, handler = active.spec, self._handlers[active.spec.kind]
        await asyncio.wait({active.task})
        done = not active.task.cancelled() and active.task.exception() is None
        if not done and self._peers and await self._peers.lost():  # another process continues it
            raise asyncio.CancelledError
        if active.task.cancelled():
            if active.paused:
                raise asyncio.CancelledError
            if not active.started:
                await handler.on_abort(spec, JobStatus.CANCELLED, _never_started(spec.kind))
            return Outcome(status=JobStatus.CANCELLED, progress=active.progress)
        error = active.task.exception()
        if error is None:
            return Outcome(status=JobStatus.DONE, result=active.task.result(), progress=active.progress)
        reason = str(error)
        if not isinstance(error, Explained | Refused):
            log.error("Job %s failed with an unexpected error", spec.id, exc_info=error)
            reason = f"Unexpected error in Candor: {error!r}"
        await handler.on_abort(spec, JobStatus.FAILED, reason)
        return Outcome(status=JobStatus.FAILED, error=str(error) or repr(error), progress=active.progress)

    async def _pause_active(self) -> None:
        for active in self._active.values():
            active.paused = True
        await asyncio.gather(*(self._stop(active) for active in self._active.values()))

    async def _stop(self, active: ActiveJob) -> None:
        """Cancel an active job, and wait until DBOS has stored its outcome."""
        ending = active.task.cancel()
        limit_s = None if ending or not self._suspended else _STORE_S  # DBOS waits if another process runs the job
        _, unfinished = await asyncio.wait({active.workflow}, timeout=limit_s)
        for workflow in unfinished:
            workflow.cancel()

    async def _with_progress(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Return the jobs with the progress of those that run; DBOS has only the last progress of ended jobs.

        A job that waits for a slot of its process is still waiting, though DBOS has started its workflow.
        """
        states = self.states()
        if self._worker:
            states |= self._worker.states
        if self._peers:
            running = [job.id for job in jobs if job.status is JobStatus.RUNNING and job.id not in states]
            states |= await self._peers.call(Processes.states, running) if running else {}
        return [_with_state(job, states.get(job.id)) for job in jobs]


def _with_state(job: Job, state: JobState | None) -> Job:
    if state is None or job.status.ended:
        return job
    if not state.started:
        return job.model_copy(update={"status": JobStatus.WAITING, "started_at": None, "waits_for": state.waits_for})
    return job.model_copy(update={"progress": state.progress})


def new_job_id(prefix: str, caller: Caller, idempotency_key: str | None) -> str:
    """Return a random id or, with an idempotency key, an id derived from the caller's API key and that key."""
    if idempotency_key is None:
        return f"{prefix}_{secrets.token_hex(6)}"
    name = f"{prefix}:{len(caller.key)}:{caller.key}:{idempotency_key}"  # the length makes the encoding unambiguous
    return f"{prefix}_{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _never_started(kind: JobKind) -> str:
    return f"The {_NOUNS[kind]} was cancelled before it started."


async def free_job_id(jobs: Jobs, base: str, noun: str) -> str:
    """Return an unused id for the next job of an evaluation or a table. Raises UsageError while a job is active."""
    number = 1
    while True:
        job_id = base if number == 1 else f"{base}-{number}"
        try:
            job = await jobs.get(job_id)
        except JobNotFound:
            return job_id
        if not job.status.ended:
            raise UsageError(f"The {noun} {base!r} is active as job {job_id!r}. Wait for it, or cancel it.")
        number += 1


async def begin_next(
    jobs: Jobs, kind: JobKind, base: str, noun: str, collection: str, caller: Caller, content: FrozenModel
) -> Job:
    """Submit the next job of an evaluation or a table, and return it. Raises UsageError while a job is active."""
    while True:
        job_id = await free_job_id(jobs, base, noun)
        with suppress(KeyReused):  # another request has just taken the id
            return await jobs.begin(kind, job_id, collection, caller, content)

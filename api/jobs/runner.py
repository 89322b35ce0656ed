"""Durable jobs: what the service does in turn, and goes on with after it was ended or killed.

Every job is a DBOS workflow. DBOS keeps it (in ``jobs.db`` in the home folder, or in Postgres), takes
it from its queue when there is room, and hands it out again if the process that had it is no more. How a kind of job
is done, and what of it need not be done twice, is its ``JobHandler``. The work runs in the service's own event loop.

A file of its own, because DBOS writes at moments of its own: in ``candor.db`` the event loop, which stores the events
of all runs, would have to wait for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Callable, Collection
from contextvars import Context
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import AwareDatetime, Field, JsonValue

from api.auth.permissions import Caller
from api.errors import JobFailed, KeyReused, NotOurs, ServiceEnding
from api.jobs.queue import JobQueue
from api.services.ingest import IngestJobSpec
from vectorstore.models import FrozenModel

if TYPE_CHECKING:
    from dbos import WorkflowStatus

log = logging.getLogger(__name__)

_PAGE = 50


class JobKind(StrEnum):
    """What is done; each kind has a queue of its own."""

    RESEARCH = "research"
    INGEST = "ingest"
    EVALUATION = "evaluation"


class JobStatus(StrEnum):
    """Where a job is between being asked for and its end."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing more is done about it."""
        return self not in (JobStatus.WAITING, JobStatus.RUNNING)


class Job(FrozenModel):
    """A piece of work that the service took on."""

    id: str = Field(description="of a research job: the id of its run")
    kind: JobKind
    collection: str
    key: str = Field(description="id of the key that asked for it; empty for the person at this machine")
    status: JobStatus
    created_at: AwareDatetime
    started_at: AwareDatetime | None = Field(default=None, description="when it was last begun, or resumed")
    ended_at: AwareDatetime | None = None
    progress: JsonValue = Field(default=None, description="how far it is, in the terms of its kind")
    result: JsonValue = Field(default=None, description="what came of it, in the terms of its kind")
    error: str | None = Field(default=None, description="why it failed")


class Priority(StrEnum):
    """Which of one's own waiting jobs comes first. Between keys it is of no account."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @property
    def rank(self) -> int:
        """The lowest comes first."""
        return list(Priority).index(self)


class Order(FrozenModel):
    """What is to be done, and for whom."""

    id: str
    kind: JobKind
    collection: str
    key: str
    content: str = Field(description="what was asked for, as JSON, in the terms of its kind")
    note: str = Field(default="", description="what the kind's work keeps beside it; no part of what was asked for")
    priority: Priority = Priority.NORMAL

    def asks_the_same(self, other: Order) -> bool:
        """Whether both are the same request, made twice."""
        return (self.kind, self.collection, self.content) == (other.kind, other.collection, other.content)


class ActiveJob:
    """A job while it is worked on: what its work is told of it, and may tell."""

    task: asyncio.Task[JsonValue]

    def __init__(self, order: Order, body: asyncio.Task[Any]) -> None:
        self.order, self.body = order, body
        self.progress: JsonValue = None
        self.begun = False
        self.rests = False

    def resting(self) -> bool:
        """Whether a cancellation means that the service ends, and the job goes on when it is started again."""
        return self.rests


class JobHandler(Protocol):
    """How one kind of job is done."""

    async def work(self, taken: ActiveJob) -> JsonValue:
        """Do it, or go on with it; gives its result. Raises JobFailed, with what the person is told.

        When it is cancelled it ends at once; if ``taken.resting()``, it leaves everything so that it can go on.
        """
        ...

    async def abandon(self, order: Order, status: JobStatus, reason: str) -> None:
        """It was cancelled before its turn had come, or failed where its work could not tell of it."""
        ...


class Outcome(FrozenModel):
    """How a job's work ended, as DBOS keeps it."""

    status: Literal[JobStatus.DONE, JobStatus.FAILED, JobStatus.CANCELLED]
    result: JsonValue = None
    progress: JsonValue = None
    error: str | None = None


class Jobs:
    """All jobs of the service. Belongs to one event loop, and to one process at a time."""

    def __init__(self, durability: JobQueue) -> None:
        self._durability = durability
        self._works: dict[JobKind, JobHandler] = {}
        self._slots = {kind: asyncio.Semaphore(limit) for kind, limit in durability.limits.items()}
        self._taken: dict[str, ActiveJob] = {}
        self._unwanted: set[str] = set()
        self._ending = False

    def offer(self, kind: JobKind, work: JobHandler) -> None:
        """Let jobs of this kind be done so. Call it before ``begin``."""
        self._works[kind] = work

    async def begin(self) -> None:
        """Take jobs on; those that are unfinished go on. Raises HomeError, SQLAlchemyError."""
        await self._durability.launch(self._perform)

    async def submit(self, order: Order) -> bool:
        """Take a job on; False if it was taken on before, under the same id.

        Raises KeyReused if that was another request, ServiceEnding.
        """
        if self._ending:
            raise ServiceEnding
        new = await self._durability.enqueue(order)
        if not new and not order.asks_the_same(await self.order(order.id)):
            raise KeyReused("This Idempotency-Key was sent before, with another request.")
        return new

    async def submit_ingest(self, order: IngestJobSpec, caller: Caller, idempotency_key: str | None = None) -> Job:
        """Take an ingest on. The same idempotency key of the same caller gives the same job.

        Raises KeyReused, ServiceEnding.
        """
        job_id = new_job_id("ingest", caller, idempotency_key)
        await self.submit(
            Order(
                id=job_id,
                kind=JobKind.INGEST,
                collection=order.collection,
                key=caller.key,
                content=order.model_dump_json(),
            )
        )
        return await self.job(job_id)

    async def order(self, job_id: str) -> Order:
        """What was asked for. Raises JobNotFound."""
        return _order_of(await self._durability.find(job_id))

    async def job(self, job_id: str) -> Job:
        """One job. Raises JobNotFound."""
        return self._job(await self._durability.find(job_id))

    async def list(
        self, kind: JobKind | None, among: Collection[JobStatus], collection: str | None, limit: int,
        readable: Callable[[str], bool],
    ) -> list[Job]:  # fmt: skip
        """The latest jobs ``among`` these states, or all, over the ``readable`` collections, newest first."""
        wanted = set(among or JobStatus)
        statuses = {name for name, stands in _STATUSES.items() if stands in wanted}
        if wanted & {JobStatus.FAILED, JobStatus.CANCELLED}:
            statuses.add("SUCCESS")  # of DBOS's workflow, which has come to its end; its outcome tells
        jobs: list[Job] = []
        page = max(limit, _PAGE)
        for offset in count(0, page):
            found = await self._durability.latest([kind] if kind else list(JobKind), sorted(statuses), page, offset)
            jobs += [
                job for job in map(self._job, found)
                if job.status in wanted and collection in (None, job.collection) and readable(job.collection)
            ]  # fmt: skip
            if len(found) < page or len(jobs) >= limit:
                break
        jobs.sort(key=lambda job: job.created_at, reverse=True)  # DBOS's order is by the second, on SQLite
        return jobs[:limit]

    async def cancel(self, job_id: str) -> Job:
        """End a job; one that has ended stays as it is. Raises JobNotFound; NotOurs if another process works on it."""
        job = self._job(found := await self._durability.find(job_id))
        if taken := self._taken.get(job.id):
            await self._stop(taken)
        elif not job.status.ended:
            if job.status is JobStatus.RUNNING and found.executor_id != self._durability.executor:
                raise NotOurs(f"Job {job.id!r} is done by another service on this database; cancel it there.")
            self._unwanted.add(job.id)  # it may be on its way from the queue to here
            await self._works[job.kind].abandon(_order_of(found), JobStatus.CANCELLED, _before_its_turn(job.kind))
            await self._durability.cancel(job.id)
        return await self.job(job.id)

    async def rest(self) -> None:
        """Stop what is under way, so that it goes on at the next start, and take on nothing more. Idempotent."""
        self._ending = True
        for taken in self._taken.values():
            taken.rests = True
        await asyncio.gather(*(self._stop(taken) for taken in self._taken.values()))

    async def end(self) -> None:
        """Rest, and let go of the database."""
        await self.rest()
        await self._durability.destroy()

    # One job

    async def _perform(self, content: str) -> str:
        """The workflow of every kind: the work of a job, in DBOS's own task. It gives an ``Outcome`` as JSON.

        A cancelled task leaves the workflow as it is in the database: unfinished, to be handed out at the next start.
        """
        order = Order.model_validate_json(content)
        if self._ending or order.id in self._unwanted:
            raise asyncio.CancelledError
        body = asyncio.current_task()
        assert body is not None
        # In a context of its own: in the workflow's, DBOS would take what the work asks of it for steps to record.
        taken = self._taken[order.id] = ActiveJob(order, body)
        taken.task = asyncio.create_task(self._in_turn(taken), name=order.id, context=Context())
        body.add_done_callback(lambda _: self._taken.pop(order.id))  # when DBOS has stored the outcome
        return (await self._outcome(taken)).model_dump_json()

    async def _outcome(self, taken: ActiveJob) -> Outcome:
        order, work = taken.order, self._works[taken.order.kind]
        await asyncio.wait({taken.task})
        if taken.task.cancelled():
            if taken.rests:
                raise asyncio.CancelledError
            if not taken.begun:
                await work.abandon(order, JobStatus.CANCELLED, _before_its_turn(order.kind))
            return Outcome(status=JobStatus.CANCELLED, progress=taken.progress)
        error = taken.task.exception()
        if error is None:
            return Outcome(status=JobStatus.DONE, result=taken.task.result(), progress=taken.progress)
        if not isinstance(error, JobFailed):
            log.error("Job %s was ended by a defect", order.id, exc_info=error)
            await work.abandon(order, JobStatus.FAILED, f"A defect in Candor: {error!r}")
        return Outcome(status=JobStatus.FAILED, error=str(error) or repr(error), progress=taken.progress)

    async def _in_turn(self, taken: ActiveJob) -> JsonValue:
        """DBOS counts what runs a moment late, and may hand out one too many: that one waits here."""
        async with self._slots[taken.order.kind]:
            taken.begun = True
            return await self._works[taken.order.kind].work(taken)

    async def _stop(self, taken: ActiveJob) -> None:
        """Cancel the work, and wait until it has ended and DBOS has stored how."""
        taken.task.cancel()
        await asyncio.wait({taken.body})

    def _job(self, found: WorkflowStatus) -> Job:
        """As it is told. What is done here and now, this process knows better than the database."""
        outcome = Outcome.model_validate_json(found.output) if found.output else None
        taken = self._taken.get(found.workflow_id)
        told = found.attributes or {}
        return Job(
            id=found.workflow_id,
            kind=JobKind(told["kind"]),
            collection=told["collection"],
            key=told["key"],
            status=outcome.status if outcome else _STATUSES[found.status],
            created_at=datetime.fromtimestamp(told["at"], UTC),
            started_at=_time(found.dequeued_at),
            ended_at=_time(found.completed_at),
            progress=taken.progress if taken else outcome.progress if outcome else None,
            result=outcome.result if outcome else None,
            error=outcome.error if outcome else str(found.error) if found.error else None,
        )


_NAMES = {JobKind.RESEARCH: "run", JobKind.INGEST: "ingest", JobKind.EVALUATION: "evaluation"}
_STATUSES = {
    "ENQUEUED": JobStatus.WAITING,
    "DELAYED": JobStatus.WAITING,
    "PENDING": JobStatus.RUNNING,
    "SUCCESS": JobStatus.DONE,
    "ERROR": JobStatus.FAILED,
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": JobStatus.FAILED,
    "CANCELLED": JobStatus.CANCELLED,
}


def new_job_id(prefix: str, caller: Caller, idempotency_key: str | None) -> str:
    """A fresh id; with a key that which this caller's key stands for, whenever and to whichever process it is sent."""
    if idempotency_key is None:
        return f"{prefix}_{secrets.token_hex(6)}"
    named = f"{prefix}:{len(caller.key)}:{caller.key}:{idempotency_key}"  # the length: no two look alike
    return f"{prefix}_{hashlib.sha256(named.encode()).hexdigest()[:12]}"


def _before_its_turn(kind: JobKind) -> str:
    return f"The {_NAMES[kind]} was cancelled before its turn had come."


def _order_of(found: WorkflowStatus) -> Order:
    assert found.input is not None
    return Order.model_validate_json(found.input["args"][0])


def _time(milliseconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None

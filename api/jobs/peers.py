"""The processes that share the jobs: heartbeats, takeover of dead processes, cancellation across processes.

A process renews its row every second, or more often if ``service.takeover_s`` is short. The database's clock decides
who is alive, so the clocks of the machines may differ. A process that could not renew its row for more than half of
that time stops its jobs, because others will take them over. It joins again as soon as it reaches the database. One
whose key the store rejects gives its jobs back, and takes no others until the store accepts the key.
"""

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import psutil
import sqlalchemy as sql
import sqlalchemy.orm  # a thread that builds a query while another imports this module fails
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import SQLAlchemyError

from api.jobs.dbos_internals import hand_out
from api.jobs.models import JobKind, JobState
from api.jobs.queue import JobQueue
from api.settings import Settings
from api.storage.fencing import end_connections_of_dead, fence
from api.storage.live_processes import ACTIVE_JOBS, NOW, PROCESSES, SILENT, Process, read_process
from base.database import SqlStore
from ingest.ledger.lock import release_locks_of
from vectorstore.errors import StoreError, StoreKeyRejected

_TAKEOVER_LOCK = 0x74616B656F766572  # "takeover" in ASCII


class Processes(SqlStore):
    """The rows of one process, and what it reads of the others. Calls block and raise SQLAlchemyError."""

    def __init__(self, engine: sql.Engine, process_id: str, queues: Collection[JobKind], takeover_s: float) -> None:
        super().__init__(engine)
        self._id = process_id
        started = psutil.Process().create_time()
        self._row = {
            "id": process_id,
            "host": socket.gethostname(),
            "process": os.getpid(),
            "process_started": started,
            "queues": [kind.value for kind in queues],
            "takeover_s": takeover_s,
            "started_at": datetime.fromtimestamp(started, UTC),
        }
        self._stored: dict[str, JobState] = {}

    def join(self, earlier: str = "") -> None:
        """Add the row of this process, which runs no job. Processes whose ids start with ``earlier`` have ended."""
        with self._engine.begin() as connection:
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_TAKEOVER_LOCK)))
            if earlier:
                _declare_dead(connection, PROCESSES.c.id.startswith(earlier, autoescape=True))
            hand_out(connection, "executor_id = :id", id=self._id)
            row = insert(PROCESSES).values(**self._row, seen_at=NOW)
            connection.execute(row.on_conflict_do_update(index_elements=["id"], set_={"seen_at": NOW}))
        self._stored.clear()

    def leave(self) -> None:
        """Delete the row, so that others take over unfinished jobs at once."""
        self._execute(sql.delete(PROCESSES).where(PROCESSES.c.id == self._id))

    def beat(self, active: Mapping[str, JobState]) -> Sequence[str] | None:
        """Renew the row, and store the states of active jobs. Return the ids of those that other processes cancelled.

        Return None if other processes took over the jobs of this process.
        """
        if not self._execute(sql.update(PROCESSES).where(PROCESSES.c.id == self._id).values(seen_at=NOW)):
            return None
        with self._engine.begin() as connection:
            self._store_states(connection, active)
            return connection.scalars(
                sql.select(ACTIVE_JOBS.c.job_id).where(ACTIVE_JOBS.c.job_id.in_(list(active)), ACTIVE_JOBS.c.cancelled)
            ).all()

    def take(self, queues: Collection[JobKind]) -> None:
        """Record the kinds of job that this process takes. If there are none, hand out the jobs that it has taken."""
        with self._engine.begin() as connection:
            own = sql.update(PROCESSES).where(PROCESSES.c.id == self._id)
            connection.execute(own.values(queues=[kind.value for kind in queues]))
            if not queues:
                hand_out(connection, "executor_id = :id", id=self._id)

    def take_over(self) -> list[Process]:
        """Declare silent processes dead, end their connections, and hand out the jobs of all that are not alive.

        One process at a time does this, and no process joins meanwhile. Return those that were declared dead.
        """
        with self._engine.begin() as connection:
            if not connection.scalar(sql.select(sql.func.pg_try_advisory_xact_lock(_TAKEOVER_LOCK))):
                return []
            dead: list[Process] = []
            if connection.scalar(sql.select(sql.exists().where(SILENT))):
                with self._engine.begin() as first:  # committed before their jobs are handed out
                    dead = _declare_dead(first, SILENT)
            if end_connections_of_dead(connection):
                hand_out(connection, "executor_id NOT IN (SELECT id FROM processes)")
            return dead

    def runs(self, process_id: str | None) -> bool:
        """Return whether the process with this id has a row."""
        return any(row.id == process_id for row in self._select(sql.select(PROCESSES.c.id)))

    def states(self, job_ids: Collection[str]) -> dict[str, JobState]:
        """Return the stored states of these jobs."""
        query = sql.select(ACTIVE_JOBS).where(ACTIVE_JOBS.c.job_id.in_(job_ids), ACTIVE_JOBS.c.process_id != "")
        return {
            row.job_id: JobState(started=row.started, progress=row.progress, waits_for=row.waits_for)
            for row in self._select(query)
        }

    def mark_cancelled(self, job_id: str) -> None:
        """Ask the process that runs the job, now or later, to cancel it."""
        mark = insert(ACTIVE_JOBS).values(job_id=job_id, cancelled=True)
        self._execute(mark.on_conflict_do_update(index_elements=["job_id"], set_={"cancelled": True}))

    def is_cancelled(self, job_id: str) -> bool:
        """Return whether somebody asked to cancel the job."""
        marked = sql.select(ACTIVE_JOBS.c.job_id).where(ACTIVE_JOBS.c.job_id == job_id, ACTIVE_JOBS.c.cancelled)
        return bool(self._select(marked))

    def forget(self, job_id: str) -> None:
        """Delete the state of a job that has ended."""
        self._execute(sql.delete(ACTIVE_JOBS).where(ACTIVE_JOBS.c.job_id == job_id))

    def _store_states(self, connection: sql.Connection, active: Mapping[str, JobState]) -> None:
        for job_id, state in active.items():
            if self._stored.get(job_id) != state:
                values = {"process_id": self._id, **state.model_dump(mode="json")}
                store = insert(ACTIVE_JOBS).values(job_id=job_id, **values)
                connection.execute(store.on_conflict_do_update(index_elements=["job_id"], set_=values))
        if ended := self._stored.keys() - active.keys():
            ours = ACTIVE_JOBS.c.process_id == self._id  # else another process has taken it over
            connection.execute(sql.delete(ACTIVE_JOBS).where(ACTIVE_JOBS.c.job_id.in_(ended), ours))
        self._stored = dict(active)


def _declare_dead(connection: sql.Connection, which: sql.ColumnElement[bool]) -> list[Process]:
    """Delete the rows of these processes, and their ingest locks."""
    rows = connection.execute(sql.delete(PROCESSES).where(which).returning(PROCESSES)).all()
    for row in rows:
        release_locks_of(connection, row.host, row.process, row.process_started)
    return [read_process(row) for row in rows]


log = logging.getLogger(__name__)

_BEAT_S = 1.0
_CHECK_S = 10.0  # between checks of the key of the store
_BEATS = 15  # at least, within ``takeover_s``
_STALE = 0.6  # share of ``takeover_s`` after which a process stops its jobs
_MIN_TIMEOUT_S = 2  # the shortest that libpq accepts
_POOL = 4
_T = TypeVar("_T")
_P = ParamSpec("_P")


class Members(Protocol):
    """The jobs of this process, as ``Jobs`` implements and describes them."""

    def states(self) -> dict[str, JobState]: ...

    async def cancel_here(self, job_id: str) -> None: ...

    async def suspend(self) -> None: ...

    def resume(self) -> None: ...


class Peers:
    """This process among those that share the jobs. Belongs to one event loop."""

    def __init__(
        self, settings: Settings, engine: sql.Engine, queue: JobQueue, require_writable: Callable[[], None]
    ) -> None:
        """Use connections of its own, which are not fenced. ``engine`` is the one to fence.

        ``require_writable`` checks the store.
        """
        self._engine, self._queue, self._require_writable = engine, queue, require_writable
        self._rejection = ""
        self._takeover_s = settings.service.takeover_s
        self._own_engine = _make_engine(settings)
        self._processes = Processes(self._own_engine, queue.executor, list(queue.limits), self._takeover_s)
        self._threads = ThreadPoolExecutor(_POOL, thread_name_prefix="peers")
        self._last_beat = time.monotonic()
        self._left_behind = False
        self._states: dict[str, JobState] = {}
        self._cancelled: frozenset[str] = frozenset()
        self._left = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="peers", daemon=True)
        self._end_fence: Callable[[], None] = lambda: None

    async def start(self, jobs: Members) -> None:
        """Add this process, fence its engine, and begin to watch the others. Earlier processes of its home have ended.

        Call it before ``jobs`` starts.
        """
        await self._call(self._processes.join, self._queue.earlier)
        self._last_beat = time.monotonic()
        self._end_fence = await self._call(fence, self._engine, self._queue.executor)
        self._renewing.start()
        self._watching = asyncio.create_task(self._watch(jobs))
        self._checking = asyncio.create_task(self._check_store())

    async def leave(self) -> None:
        """Remove this process. Other processes take over its unfinished jobs at once. No job may be running."""
        self._watching.cancel()
        self._checking.cancel()
        self._left.set()
        await asyncio.get_running_loop().run_in_executor(self._threads, self._renewing.join)
        with suppress(SQLAlchemyError):  # else they take them over later
            await self._call(self._processes.leave)
        await self._call(self._end_fence)
        self._own_engine.dispose()
        self._threads.shutdown(wait=False)

    @property
    def stale(self) -> bool:
        """Whether others may take over the jobs of this process. Once true, it stays true until it has joined again."""
        if time.monotonic() - self._last_beat > _STALE * self._takeover_s:
            self._left_behind = True
        return self._left_behind

    async def lost(self) -> bool:
        """Return whether others took over the jobs of this process. Waits for the database if it is away."""
        while not self.stale:
            try:
                return not await self.call(Processes.runs, self._queue.executor)
            except SQLAlchemyError:
                await asyncio.sleep(self._interval)
        return True

    async def call(self, method: Callable[Concatenate[Processes, _P], _T], *arguments: _P.args, **_: _P.kwargs) -> _T:
        """Return what a method of ``Processes`` returns. It runs in a thread."""
        return await self._call(method, self._processes, *arguments)

    async def is_cancelled(self, job_id: str) -> bool:
        """Return whether somebody asked to cancel the job. Waits for the database if it is away for a moment."""
        while True:
            try:
                return await self._call(self._processes.is_cancelled, job_id)
            except SQLAlchemyError:
                if self.stale:
                    raise
                await asyncio.sleep(self._interval)

    @property
    def _interval(self) -> float:
        return min(_BEAT_S, self._takeover_s / _BEATS)

    def _renew(self) -> None:
        """Renew the row, in a thread of its own, because the event loop can be busy for seconds."""
        while not self._left.wait(self._interval):
            if self.stale:  # else a process that was frozen would renew its row before it stops its jobs
                continue
            began = time.monotonic()
            try:
                cancelled = self._processes.beat(self._states)
                if cancelled is None:
                    self._left_behind = True
                    continue
                self._last_beat = began
                self._cancelled = frozenset(cancelled)
                self._report(self._processes.take_over())
            except Exception as error:  # noqa: BLE001 (without this thread, the process would lose its jobs)
                log.warning("The heartbeat could not be stored and is retried: %s", error)

    def _report(self, dead: Sequence[Process]) -> None:
        for each in dead:
            log.warning(
                "Process %s (%d on %s) stored no heartbeat for %.0f s. Its jobs are handed out again.",
                each.id, each.process, each.host, self._takeover_s,
            )  # fmt: skip

    async def _watch(self, jobs: Members) -> None:
        """Cancel jobs that were cancelled elsewhere, or stop all jobs, depending on the last heartbeat."""
        cancelling: dict[str, asyncio.Task[None]] = {}
        while True:
            self._states = jobs.states()
            if self._rejection:
                await self._step_back(jobs)
            if self.stale:
                await self._join_again(jobs)
            for job_id in self._cancelled & self._states.keys() - cancelling.keys():
                cancelling[job_id] = asyncio.create_task(jobs.cancel_here(job_id))
            cancelling = {job_id: task for job_id, task in cancelling.items() if not task.done()}
            await asyncio.sleep(self._interval)

    async def _check_store(self) -> None:
        """Check the key in a task of its own, because a store that is away responds late."""
        while True:
            try:
                await self._call(self._require_writable)
                self._rejection = ""
            except StoreKeyRejected as error:
                self._rejection = str(error)
            except StoreError as error:
                log.warning("The store cannot be used now. %s", error)
            await asyncio.sleep(_CHECK_S)

    async def _step_back(self, jobs: Members) -> None:
        """Leave the jobs to the others while the store rejects the key of this process."""
        log.error("This process takes no jobs; others may take them. %s", self._rejection)
        await jobs.suspend()
        while self._rejection and not self.stale:
            with suppress(SQLAlchemyError):  # the heartbeat reports it
                await self._call(self._processes.take, ())  # again, because DBOS takes some until it has its number
            await asyncio.sleep(self._interval)
        with suppress(SQLAlchemyError):
            await self._call(self._processes.take, list(self._queue.limits))
        if not self.stale:
            jobs.resume()
            log.warning("This process takes jobs again.")

    async def _join_again(self, jobs: Members) -> None:
        """Stop all jobs, then join again once the database can be reached."""
        log.warning(
            "This process stored no heartbeat for %.0f s. It stops its jobs; others may continue them.",
            time.monotonic() - self._last_beat,
        )
        await jobs.suspend()
        while self._left_behind:
            try:
                began = time.monotonic()
                await self._call(self._processes.join)
                self._last_beat, self._left_behind = began, False
            except SQLAlchemyError:
                await asyncio.sleep(self._interval)
        jobs.resume()
        log.warning("This process takes jobs again.")

    async def _call(self, function: Callable[..., _T], *arguments: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *arguments))


def _make_engine(settings: Settings) -> sql.Engine:
    """Return an engine whose statements fail early when the database is away."""
    assert settings.database_url is not None
    timeout_s = max(_MIN_TIMEOUT_S, int(settings.service.takeover_s / 3))
    # A process that is frozen inside a transaction keeps the takeover lock. Postgres ends the transaction before the
    # statements of the others, which wait for the lock, run out of time.
    idle_ms, statement_ms = timeout_s * 500, timeout_s * 1000
    limits = {
        "connect_timeout": timeout_s,
        "tcp_user_timeout": timeout_s * 1000,
        "options": f"-c statement_timeout={statement_ms} -c idle_in_transaction_session_timeout={idle_ms}",
    }
    url = settings.database_url.get_secret_value()
    # One connection, and a second one while the jobs of a dead process are taken over.
    return sql.create_engine(url, pool_pre_ping=True, pool_size=1, max_overflow=1, connect_args=limits)

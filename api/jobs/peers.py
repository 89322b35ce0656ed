"""The other processes that share the jobs: heartbeats, takeover of dead processes, cancellation across processes.

A process renews its row every second, or more often if ``service.takeover_s`` is short. One that could not do so for
more than half of that time stops its jobs, because others will take them over. It joins again as soon as it reaches the
database.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from api.jobs.models import JobState
from api.jobs.processes import Processes
from api.jobs.queue import JobQueue
from api.settings import Settings
from api.storage.fencing import fence
from api.storage.live_processes import Process

log = logging.getLogger(__name__)

_BEAT_S = 1.0
_BEATS = 15  # at least, within ``takeover_s``
_STALE = 0.6  # share of ``takeover_s`` after which a process stops its jobs
_MIN_TIMEOUT_S = 2  # the shortest that libpq accepts
_POOL = 4
_T = TypeVar("_T")


class Members(Protocol):
    """The jobs of this process, as ``Jobs`` implements them."""

    def states(self) -> dict[str, JobState]:
        """Return the states of the active jobs."""
        ...

    async def cancel_here(self, job_id: str) -> None:
        """Cancel an active job."""
        ...

    async def suspend(self) -> None:
        """Stop all jobs, so that others can continue them, and start none until ``resume``."""
        ...

    def resume(self) -> None:
        """Start jobs again."""
        ...


class Peers:
    """This process among those that share the jobs. Belongs to one event loop."""

    def __init__(self, settings: Settings, engine: sql.Engine, queue: JobQueue) -> None:
        """Use connections of its own, which are not fenced. ``engine`` is the one to fence."""
        self._engine, self._queue = engine, queue
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

    async def leave(self) -> None:
        """Remove this process. Other processes take over its unfinished jobs at once. No job may be running."""
        self._watching.cancel()
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
                return not await self._call(self._processes.is_alive)
            except SQLAlchemyError:
                await asyncio.sleep(self._interval)
        return True

    async def runs(self, process_id: str | None) -> bool:
        """Return whether the process with this id is alive."""
        return process_id in await self._call(self._processes.live_ids)

    async def live(self) -> list[Process]:
        """Return the live processes, oldest first."""
        return await self._call(self._processes.live)

    async def states(self, job_ids: Collection[str]) -> dict[str, JobState]:
        """Return the states of jobs that run in other processes."""
        return await self._call(self._processes.states, job_ids) if job_ids else {}

    async def mark_cancelled(self, job_id: str) -> None:
        """Ask the process that runs the job, now or later, to cancel it."""
        await self._call(self._processes.mark_cancelled, job_id)

    async def is_cancelled(self, job_id: str) -> bool:
        """Return whether somebody asked to cancel the job. Waits for the database if it is away for a moment."""
        while True:
            try:
                return await self._call(self._processes.is_cancelled, job_id)
            except SQLAlchemyError:
                if self.stale:
                    raise
                await asyncio.sleep(self._interval)

    async def forget(self, job_id: str) -> None:
        """Delete the state of a job that has ended."""
        await self._call(self._processes.forget, job_id)

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
                beat = self._processes.beat(self._states)
                if not beat.alive:
                    self._left_behind = True
                    continue
                self._last_beat = began
                self._cancelled = frozenset(beat.cancelled)
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
            if self.stale:
                await self._join_again(jobs)
            for job_id in self._cancelled & self._states.keys() - cancelling.keys():
                cancelling[job_id] = asyncio.create_task(jobs.cancel_here(job_id))
            cancelling = {job_id: task for job_id, task in cancelling.items() if not task.done()}
            await asyncio.sleep(self._interval)

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

"""The worker of a service: ``candor worker`` in a child process, for its questions, evaluations and tables.

So the interpreter of the service stays free for searches and pages. Both use the same queues, and exchange messages
over one ``Channel`` of ``base/rpc.py``. When the worker ends, the service starts another one, to which DBOS hands out
the jobs again.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from pydantic import Field
from sqlalchemy.exc import SQLAlchemyError

from api.errors import ServiceEnding, WorkerUnavailable
from api.jobs.models import JobKind, JobState
from api.jobs.queue import JobQueue
from api.settings import Settings
from base.models import FrozenModel
from base.process import ChildProcess
from base.rpc import Channel, Disconnected, Failure
from multi_agent.values.events import Event


class Order(FrozenModel):
    """A request of the service to its worker."""

    cancel: str = Field(default="", description="the job to cancel")
    stop: bool = Field(default=False, description="pause all jobs and exit")


class News(FrozenModel):
    """A message from the worker. It sets exactly one field."""

    ready: bool = Field(default=False, description="the worker takes jobs now")
    event: Event | None = Field(default=None, description="an event of a run, which is stored")
    released: str = Field(default="", description="the run that the worker has ended or paused")
    states: dict[str, JobState] | None = Field(default=None, description="the active jobs, after a change")
    cancelled: str = Field(default="", description="the job of an order to cancel that was carried out")
    failure: Failure | None = Field(default=None, description="why that job could not be cancelled")


log = logging.getLogger(__name__)

_NICENESS = 5  # see docs/concurrency.md
_RETRY_S = 1.0  # before a process that ended before it was ready is started again
_EXIT_TIMEOUT_S = 5.0
_STOP_S = 30.0  # storing the state of a run takes milliseconds, unless the database is away
_CANCEL_S = 30.0


class Audience(Protocol):
    """What hears of the worker's runs, as ``Runs`` implements and describes it."""

    async def publish(self, event: Event) -> None: ...

    def release(self, run_id: str) -> None: ...

    def release_all(self) -> None: ...


class ServiceWorker:
    """Runs the worker from ``start`` to ``stop``. Belongs to one event loop."""

    kinds = frozenset({JobKind.RESEARCH, JobKind.EVALUATION, JobKind.TABLE})

    def __init__(self, settings: Settings, queue: JobQueue) -> None:
        self._settings, self._queue = settings, queue
        self._cancelling: dict[str, asyncio.Future[None]] = {}
        self._ready = self._stopping = False
        self._watching: asyncio.Task[None] | None = None
        self.states: Mapping[str, JobState] = {}
        """The states of its active jobs."""
        self.failure = ""
        """How the last process ended if it was never ready and no other one has become ready since. Else empty."""

    async def start(self, audience: Audience) -> None:
        """Start the worker without waiting until it is ready, which takes a second or two. Raises OSError."""
        await self._spawn()
        self._watching = asyncio.create_task(self._watch(audience))

    @property
    def pid(self) -> int:
        """The id of the current process."""
        return self._process.pid

    async def cancel(self, job_id: str) -> None:
        """Let the worker cancel a job, as ``Jobs.cancel`` does. Raises its errors, ServiceEnding, WorkerUnavailable."""
        if self._stopping:
            raise ServiceEnding
        done = self._cancelling.setdefault(job_id, asyncio.get_running_loop().create_future())
        self._channel.write(Order(cancel=job_id))
        while not done.done():
            await asyncio.wait({done}, timeout=_CANCEL_S)
            if not done.done() and self.failure:  # the next process gets the order, too
                raise WorkerUnavailable(self.failure)
            if not done.done() and self._ready:
                log.error("The research process %d did not cancel a job within %g s.", self.pid, _CANCEL_S)
                self._process.kill()
        done.result()

    async def stop(self) -> None:
        """Let the worker pause its jobs and exit. Idempotent."""
        if self._watching is None:
            return
        if not self._stopping:
            self._stopping = True
            while self._cancelling:
                self._cancelling.popitem()[1].set_exception(ServiceEnding())
            self._channel.write(Order(stop=True))
        if not self._ready:  # it cannot read the order yet, and runs nothing
            self._process.kill()
        _, hanging = await asyncio.wait({self._watching}, timeout=_STOP_S)
        if hanging:
            self._process.kill()
            await asyncio.wait(hanging)

    async def _watch(self, audience: Audience) -> None:
        """Pass on what the worker reports, and start another one whenever it ends, until ``stop``."""
        while True:
            with suppress(Disconnected):
                await self._hear(audience)
            await self._bury()
            audience.release_all()
            if self.failure:
                await asyncio.sleep(_RETRY_S)
            if self._stopping:
                return
            while not await self._spawned():  # noqa: ASYNC110 (nothing tells when it can be started)
                await asyncio.sleep(_RETRY_S)
            for job_id in self._cancelling:
                self._channel.write(Order(cancel=job_id))

    async def _hear(self, audience: Audience) -> None:
        """Receive news until the process ends. Raises Disconnected."""
        while True:
            news = News.model_validate_json((await self._channel.read())[0])
            if news.event:
                await _publish(audience, news.event)
            elif news.states is not None:
                self.states = news.states
            elif news.released:
                audience.release(news.released)
            elif news.ready:
                self._ready, self.failure = True, ""
            elif done := self._cancelling.pop(news.cancelled, None):
                done.set_exception(news.failure.to_exception()) if news.failure else done.set_result(None)

    async def _bury(self) -> None:
        """Wait until the process has exited, which takes a moment longer than the end of its connection."""
        process, ready = self._process, self._ready
        if not self._stopping:
            process.kill()
        self._channel.close()
        await asyncio.to_thread(process.wait, _EXIT_TIMEOUT_S)
        ended = f"The research process {process.pid} ended ({process.exit_description})."
        process.close()
        self._ready, self.states = False, {}
        if self._stopping:
            return
        log.error("%s Starting another one.", ended)
        self.failure = "" if ready else ended
        try:
            await self._queue.count_deaths(self._executor)
        except SQLAlchemyError as error:  # a job that ends its process is tried once more than it should be
            log.error("The jobs that ran in process %d cannot be found: %s", process.pid, error)

    async def _spawned(self) -> bool:
        try:
            await self._spawn()
        except OSError as error:
            log.error("No research process can be started: %s", error)
            return False
        return True

    async def _spawn(self) -> None:
        self._process = ChildProcess("api.jobs.assembly:serve", nice=_NICENESS, network=True)
        self._executor = self._queue.new_worker_id()
        [connection] = self._process.connections
        with suppress(OSError):  # it has ended already, which ``_hear`` finds out
            connection.send((self._settings, self._executor))
        self._channel = await Channel.over(socket.socket(fileno=os.dup(connection.fileno())))


async def _publish(audience: Audience, event: Event) -> None:
    """Publish an event. The event is stored already, so the error of a listener must not end the worker's jobs."""
    try:
        await audience.publish(event)
    except Exception:
        log.exception("A listener failed on event %d of run %s.", event.number, event.run_id)

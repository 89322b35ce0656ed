"""Research runs as jobs of the service, which can be started, followed, cancelled and resumed.

A run continues after the client that started it disconnects. When the service stops or is killed, the run is paused,
and the next start of the service resumes it.
"""

import asyncio
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Generic, TypeVar

from pydantic import JsonValue
from sqlalchemy.exc import IntegrityError

from api.auth.callers import Callers
from api.auth.limits import limit_budget, require_tokens
from api.auth.permissions import Caller
from api.errors import JobNotFound, ServiceEnding
from api.jobs.models import ActiveJob, JobHandler, JobKind, JobSpec, JobStatus, Priority
from api.jobs.runner import Jobs, new_job_id
from api.services.documents.collection_pool import CollectionPool
from api.services.research.conversation import with_conversation
from api.services.research.research import PanelFactory
from multi_agent.library import Library
from multi_agent.llm.models import Models
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import WAITING, RunSummary, Trace
from multi_agent.values.answer import Answer, Status
from multi_agent.values.bus import Subscriber
from multi_agent.values.events import Event
from multi_agent.values.request import Request

T = TypeVar("T")


class Subscription(Generic[T]):
    """A queue with one producer and one consumer in the same event loop.

    ``asyncio.Queue`` with a timeout needs three iterations of the event loop to pass an item on; this needs one. With
    a hundred active runs, each iteration can take a step of every run, and the consumer waits for all of them.
    """

    def __init__(self) -> None:
        self._items: deque[T | None] = deque()
        self._woken: asyncio.Future[None] | None = None

    def put(self, item: T | None) -> None:
        """Append an item; None only wakes the consumer, once if it is put several times."""
        if item is not None or not self._items or self._items[-1] is not None:
            self._items.append(item)
        self._wake()

    async def get(self, timeout_s: float) -> T | None:
        """Remove and return the next item, or None after ``timeout_s`` seconds without one."""
        if not self._items:
            loop = asyncio.get_running_loop()
            self._woken = loop.create_future()
            timer = loop.call_later(timeout_s, self._wake)
            try:
                await self._woken
            finally:
                timer.cancel()
        return self._items.popleft() if self._items else None

    def _wake(self) -> None:
        if self._woken and not self._woken.done():
            self._woken.set_result(None)


IDLE_S = 15.0  # proxies and browsers drop connections that are silent for much longer
POLL_S = 0.5  # for a run of another process
SLOW_POLL_S = 5.0  # for a waiting run, which usually starts in this process


class Runs(JobHandler):
    """All runs of the service, and the handler of research jobs. Belongs to one event loop."""

    def __init__(
        self, trace: Trace, callers: Callers, panel: PanelFactory, pool: CollectionPool, jobs: Jobs,
        make_models: Callable[[], Models],
    ) -> None:  # fmt: skip
        """``make_models`` makes the models of this process, which all runs share."""
        self._trace, self._callers, self._panel, self._make_models = trace, callers, panel, make_models
        self._pool, self._jobs = pool, jobs
        self.listeners: list[Subscriber] = []
        """Receive the events of the runs of this process and its worker, so that each event is counted once."""
        self.on_release: Callable[[str], None] = lambda _: None
        """Receives the id of each run that ``release`` releases."""
        self._followed: defaultdict[str, set[Subscription[Event]]] = defaultdict(set)
        self._published: set[str] = set()  # the runs whose events arrive through ``publish``
        self._closing = False
        self._creating = threading.Lock()  # the request and its job may both store the run at the same moment
        self._database_slot = asyncio.Semaphore(1)  # a hundred concurrent runs read the database one after the other
        jobs.register(JobKind.RESEARCH, self)

    async def recover(self) -> None:
        """Store the end of runs whose jobs have ended, for example while the database was down."""
        for run in self._trace.unfinished():
            try:
                job = await self._jobs.get(run.run_id)
            except JobNotFound:  # a run of another process, for example of `candor ask`
                continue
            if job.status.ended and not self._trace.run(run.run_id).ended:  # it may have ended since it was listed
                with suppress(IntegrityError):  # another process stores the end at this moment
                    await self._abort(run.run_id, job.status, job.error or "Its job ended.")

    async def start(
        self,
        request: Request,
        collection: str,
        caller: Caller,
        idempotency_key: str | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> str:
        """Start a run and return its id at once. The same idempotency key of the same caller returns the same run.

        Raises AgentError for an invalid request, RunNotFound, RunUnderWay, KeyReused, LimitReached, StoreError,
        ServiceEnding.
        """
        if self._closing:
            raise ServiceEnding
        await asyncio.to_thread(require_tokens, self._trace, caller)
        library = await asyncio.to_thread(self._pool.library, collection)
        request = await asyncio.to_thread(with_conversation, self._trace, request, collection, caller)
        request = await asyncio.to_thread(self._panel.validate, request, library, caller)
        spec = JobSpec(
            id=new_job_id("run", caller, idempotency_key),
            kind=JobKind.RESEARCH,
            collection=collection,
            key=caller.key,
            content=request.model_dump_json(),
            note=self._panel.model_name(request.model),
            priority=priority,
        )
        if await self._jobs.submit(spec):
            await asyncio.to_thread(self._create_run, spec, request)
        return spec.id

    async def wait(self, run_id: str) -> Answer:
        """Wait until a run has ended, and return its answer. Raises ServiceEnding if the run is paused."""
        async for _ in self.follow(run_id, 0):
            pass
        if not (await asyncio.to_thread(self._trace.run, run_id)).ended:
            raise ServiceEnding
        return await asyncio.to_thread(self._trace.answer, run_id)

    async def cancel(self, run_id: str) -> RunSummary:
        """Cancel a run, also one of a command. A run that has ended stays unchanged.

        Raises RunNotFound, NotOurs, and RunUnderWay if the process of a command does not react.
        """
        run = await asyncio.to_thread(self._trace.run, run_id)
        if not run.ended:
            try:
                await self._jobs.cancel(run.run_id)
            except JobNotFound:
                return await asyncio.to_thread(self._panel.command_runs.cancel, self._trace, run)
        return await asyncio.to_thread(self._trace.run, run.run_id)

    async def follow(self, run_id: str, after: int) -> AsyncIterator[Event | None]:
        """Yield every event of the run with a number above ``after``, once and in order, until the run has ended
        or was interrupted.

        Yields None after ``IDLE_S`` without an event. After the last event the answer is stored.
        """
        trace, last_event = self._trace, time.monotonic()
        subscription = Subscription[Event]()
        self._followed[run_id].add(subscription)  # before the trace is read; numbers identify duplicates
        try:
            while True:
                async with self._database_slot:
                    run = await asyncio.to_thread(trace.run, run_id)  # before its events: an ended run gets no more
                    known = await asyncio.to_thread(trace.events, run_id, after)
                for stored in known:
                    after, last_event = stored.number, time.monotonic()
                    yield stored
                if not run.active or self._closing:
                    return
                while event := await subscription.get(self._poll_interval(run)):
                    if event.number > after + 1:
                        break  # a process stored the events between and was killed before it published them
                    if event.number > after:
                        after, last_event = event.number, time.monotonic()
                        yield event
                if time.monotonic() - last_event >= IDLE_S:
                    last_event = time.monotonic()
                    yield None
        finally:
            self._followed[run_id].discard(subscription)
            if not self._followed[run_id]:
                del self._followed[run_id]

    async def stop(self) -> None:
        """Pause every run and accept no new ones. Idempotent."""
        self._closing = True
        await self._jobs.pause()
        self.release_all()

    # Audience of the worker

    async def publish(self, event: Event) -> None:
        """Pass an event of a run of this process, or of its worker, to every follower and listener."""
        self._published.add(event.run_id)
        for subscription in self._followed.get(event.run_id, ()):
            subscription.put(event)
        for listener in self.listeners:
            await listener(event)

    def release(self, run_id: str) -> None:
        """Make the followers of a run, which this process or its worker ended or paused, read its state."""
        self._published.discard(run_id)
        self._wake(run_id)
        self.on_release(run_id)

    def release_all(self) -> None:
        """Make all followers read the states of their runs from the database."""
        self._published.clear()
        for run_id in self._followed:
            self._wake(run_id)

    # JobHandler

    async def run(self, job: ActiveJob) -> JsonValue:
        """Start or resume the run."""
        spec, run_id = job.spec, job.spec.id
        request = Request.model_validate_json(spec.content)
        try:
            async with self._database_slot:
                await asyncio.to_thread(self._create_run, spec, request)
                run = await asyncio.to_thread(self._trace.run, run_id)
                if not run.ended:  # otherwise the process was killed after the run ended and before its job did
                    request = await asyncio.to_thread(self._limited_request, spec, request)
            if not run.ended:
                library = await asyncio.to_thread(self._pool.library, spec.collection)
                async with self._database_slot:
                    orchestrator = await asyncio.to_thread(self._orchestrator, library, spec.key)
                await orchestrator.research(request, self.publish, run_id=run_id, pausing=job.is_paused)
                run = await asyncio.to_thread(self._trace.run, run_id)
        except asyncio.CancelledError:
            if not job.is_paused():
                await self.on_abort(spec, JobStatus.CANCELLED, "The run was cancelled.")
            raise
        finally:
            self.release(run_id)
        return {"run_id": run.run_id, "status": run.status}

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        """Store the end of the run, with the reason."""
        await asyncio.to_thread(self._create_run, spec, Request.model_validate_json(spec.content))
        if not (await asyncio.to_thread(self._trace.run, spec.id)).ended:
            await self._abort(spec.id, status, reason)

    def _orchestrator(self, library: Library, key: str) -> Orchestrator:
        public = self._callers.find(key).asks
        return self._panel.orchestrator(library, self._make_models(), key, public=public)

    def _limited_request(self, spec: JobSpec, request: Request) -> Request:
        limits = self._callers.find(spec.key).limits
        return limit_budget(self._trace, spec.key, limits, request, self._panel.settings.research.budget)

    def _create_run(self, spec: JobSpec, request: Request) -> None:
        with self._creating:
            self._trace.create(spec.id, request, spec.collection, spec.note, spec.key)

    async def _abort(self, run_id: str, status: JobStatus, reason: str) -> None:
        ended = Status.CANCELLED if status is JobStatus.CANCELLED else Status.FAILED
        await asyncio.to_thread(self._trace.abort, run_id, ended, reason)
        self.release(run_id)

    def _wake(self, run_id: str) -> None:
        for subscription in self._followed.get(run_id, ()):
            subscription.put(None)

    def _poll_interval(self, run: RunSummary) -> float:
        """Return the time to wait for an event before reading events that another process may have stored."""
        if run.run_id in self._published:
            return IDLE_S
        return SLOW_POLL_S if run.status == WAITING else POLL_S

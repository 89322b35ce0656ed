"""Research as a job of the service: taken on, followed while it goes on, cancelled, resumed.

A run does not belong to the request that asked for it: a client that goes away leaves its run alone. Nor does it belong
to the process: when the service ends or is killed, it rests, and goes on when the service is started again.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from functools import partial

from pydantic import JsonValue

from api.auth.limits import require_tokens, within_limits
from api.auth.permissions import Caller
from api.bootstrap import Candor
from api.errors import JobFailed, JobNotFound, NotOurs, ResearchLost, ServiceEnding
from api.jobs.runner import ActiveJob, JobKind, Jobs, JobStatus, Order, Priority, new_job_id
from api.jobs.subscription import Subscription
from api.services.collection_pool import CollectionPool
from api.workers.contract import Research, Researcher
from api.workers.panel import Panel
from multi_agent.answer import Answer, Status
from multi_agent.bus import Subscriber
from multi_agent.errors import AgentError
from multi_agent.events import Event
from multi_agent.request import Request
from multi_agent.storage.trace import WAITING, RunSummary
from vectorstore.errors import StoreError

IDLE_S = 15.0  # proxies and browsers give up on a connection that is silent for much longer
POLL_S = 0.5  # of a run that another process works on
WAITING_POLL_S = 5.0  # of one that waits for its turn, which mostly comes in this process, and then is told at once


class LiveRun:
    """Who follows a run, and whether it is worked on here."""

    def __init__(self) -> None:
        self.here = False
        self.followers: set[Subscription[Event]] = set()

    async def tell(self, event: Event) -> None:
        """Subscribe this to the run's bus."""
        for mailbox in self.followers:
            mailbox.put(event)

    def leave(self) -> None:
        """It is not worked on here any more: let the followers look what became of it."""
        self.here = False
        for mailbox in self.followers:
            mailbox.put(None)


class Runs:
    """All runs of the service: how its jobs of research are done. Belongs to one event loop."""

    def __init__(self, candor: Candor, pool: CollectionPool, jobs: Jobs, panel: Panel, researcher: Researcher) -> None:
        self._candor, self._pool, self._jobs = candor, pool, jobs
        self._panel, self._researcher = panel, researcher
        self.listeners: list[Subscriber] = []
        self._live: dict[str, LiveRun] = {}
        self._ending = False
        self._expecting = threading.Lock()  # who asks for a run, and its job, may note it at the same moment
        self._turn = asyncio.Semaphore(1)  # a hundred runs at once read the database one after the other
        jobs.offer(JobKind.RESEARCH, self)

    async def recover(self) -> None:
        """Mark those as ended whose job has ended without them: the database was gone when they were to be stored."""
        for run in self._candor.trace.unfinished():
            try:
                job = await self._jobs.job(run.run_id)
            except JobNotFound:  # of another process, such as `candor ask`
                continue
            if job.status.ended:
                await self._break_off(run.run_id, job.status, job.error or "Its job was ended.")

    async def start(
        self,
        request: Request,
        collection: str,
        caller: Caller,
        idempotency_key: str | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> str:
        """Take a run on; gives its id at once. The same idempotency key of the same caller gives the same run.

        Raises AgentError for a request that cannot be followed, KeyReused, LimitReached, StoreError, ServiceEnding.
        """
        if self._ending:
            raise ServiceEnding
        await asyncio.to_thread(require_tokens, self._candor, caller)
        library = (await asyncio.to_thread(self._pool.take, collection)).library
        await self._panel.prepared(request, library, caller.key)
        order = Order(
            id=new_job_id("run", caller, idempotency_key),
            kind=JobKind.RESEARCH,
            collection=collection,
            key=caller.key,
            content=request.model_dump_json(),
            note=self._panel.models.get(request.model).model,
            priority=priority,
        )
        if await self._jobs.submit(order):
            await asyncio.to_thread(self._expect, order)
        return order.id

    async def wait(self, run_id: str) -> Answer:
        """The answer of a run, when it has ended. Whoever waits may go away. Raises ServiceEnding if it rests."""
        async for _ in self.follow(run_id, 0):
            pass
        if not (await asyncio.to_thread(self._candor.trace.run, run_id)).ended:
            raise ServiceEnding
        return await asyncio.to_thread(self._candor.trace.answer, run_id)

    async def cancel(self, run_id: str) -> RunSummary:
        """End a run; one that has ended stays as it is. Raises RunNotFound; NotOurs if another process has it."""
        run = await asyncio.to_thread(self._candor.trace.run, run_id)
        if not run.ended:
            try:
                await self._jobs.cancel(run.run_id)
            except JobNotFound as error:
                raise NotOurs(
                    f"Run {run.run_id!r} belongs to another process, such as `candor ask`; end it there, with Ctrl-C."
                ) from error
        return await asyncio.to_thread(self._candor.trace.run, run.run_id)

    async def follow(self, run_id: str, after: int) -> AsyncIterator[Event | None]:
        """Every event of the run with a number over ``after``, once and in order, until it has ended.

        None stands for a time without an event. After the last event, the answer is there.
        """
        trace, live, heard = self._candor.trace, self._live.setdefault(run_id, LiveRun()), time.monotonic()
        mailbox = Subscription[Event]()
        live.followers.add(mailbox)  # first; what is told while the trace is read is known by its number
        try:
            while True:
                async with self._turn:
                    run = await asyncio.to_thread(trace.run, run_id)  # before its events: none comes after its end
                    known = await asyncio.to_thread(trace.events, run_id, after)
                for stored in known:
                    after, heard = stored.number, time.monotonic()
                    yield stored
                if run.ended or self._ending:
                    return
                while happened := await mailbox.take(_patience(live, run)):
                    if happened.number > after + 1:
                        break  # whoever stored those between was lost before it could tell of them
                    if happened.number > after:
                        after, heard = happened.number, time.monotonic()
                        yield happened
                if time.monotonic() - heard >= IDLE_S:
                    heard = time.monotonic()
                    yield None
        finally:
            live.followers.discard(mailbox)
            self._forget(run_id)

    async def stop(self) -> None:
        """Let every run rest, and take on no more. Idempotent."""
        self._ending = True
        await self._jobs.rest()
        for live in self._live.values():
            live.leave()

    # As the work of a job

    async def work(self, taken: ActiveJob) -> JsonValue:
        """Research the question, or go on with it."""
        await self._research(taken)
        run = await asyncio.to_thread(self._candor.trace.run, taken.order.id)
        return {"run_id": run.run_id, "status": run.status}

    async def abandon(self, order: Order, status: JobStatus, reason: str) -> None:
        """Store its end, with the reason."""
        await asyncio.to_thread(self._expect, order)
        if not (await asyncio.to_thread(self._candor.trace.run, order.id)).ended:
            await self._break_off(order.id, status, reason)

    async def _research(self, taken: ActiveJob) -> None:
        order, run_id = taken.order, taken.order.id
        live = self._live.setdefault(run_id, LiveRun())
        live.here = True
        try:
            async with self._turn:
                await asyncio.to_thread(self._expect, order)
                if (await asyncio.to_thread(self._candor.trace.run, run_id)).ended:
                    return  # it was killed between the end of the run and that of its job
                request = Request.model_validate_json(order.content)
                bounded = await asyncio.to_thread(within_limits, self._candor, order.key, request)
            research = Research(run_id=run_id, request=bounded, key=order.key)
            await self._researcher.research(research, order.collection, partial(self._tell, live), taken.resting)
        except (AgentError, StoreError, ResearchLost) as error:  # such as that its saved plan has gone while it waited
            await self.abandon(order, JobStatus.FAILED, str(error))
            raise JobFailed(str(error)) from error
        except asyncio.CancelledError:
            if not taken.resting():
                await self.abandon(order, JobStatus.CANCELLED, "The run was cancelled.")
            raise
        finally:
            live.leave()
            self._forget(run_id)

    async def _tell(self, live: LiveRun, event: Event) -> None:
        for listener in (live.tell, *self.listeners):
            await listener(event)

    def _expect(self, order: Order) -> None:
        question = Request.model_validate_json(order.content).question.strip()
        with self._expecting:
            self._candor.trace.expect(order.id, question, order.collection, order.note, order.key)

    async def _break_off(self, run_id: str, status: JobStatus, reason: str) -> None:
        ended = Status.CANCELLED if status is JobStatus.CANCELLED else Status.FAILED
        last = await asyncio.to_thread(self._candor.trace.break_off, run_id, ended, reason)
        if live := self._live.get(run_id):
            await live.tell(last)
            live.leave()

    def _forget(self, run_id: str) -> None:
        live = self._live.get(run_id)
        if live and not live.here and not live.followers:
            del self._live[run_id]


def _patience(live: LiveRun, run: RunSummary) -> float:
    """How long to wait for an event before looking into the database for what another process has stored."""
    if live.here:
        return IDLE_S
    return WAITING_POLL_S if run.status == WAITING else POLL_S

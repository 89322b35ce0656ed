"""Runs of the service: taken on, waiting for their turn, followed, cancelled, and ended with the service.

A run is a task in the server's own event loop. It does not belong to the request that asked for it: a client that goes
away leaves its run alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import cached_property

from api.bootstrap import Candor
from api.claims import Claims
from api.errors import NotOurs, ServiceEnding
from api.shelf import Shelf
from multi_agent.answer import Answer, Status
from multi_agent.bus import Subscriber
from multi_agent.errors import AgentError, RunNotFound
from multi_agent.events import Event, RunFinished
from multi_agent.llm.models import Models
from multi_agent.orchestrator.orchestrator import Orchestrator, new_run_id
from multi_agent.request import Request
from multi_agent.tracing.trace import RunSummary
from vectorstore.errors import StoreError

log = logging.getLogger(__name__)

IDLE_S = 15.0  # proxies and browsers give up on a connection that is silent for much longer
POLL_S = 0.5
CANCEL_S = 10.0

_KILLED = (
    "The service ended while this run was under way: it was killed, or its machine went down. Nothing resumes it; "
    "ask the question again. What was done until then is in its events."
)


class LiveRun:
    """A run of this process, and who follows it."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.begun = False
        self.ended = asyncio.Event()
        self.followers: set[asyncio.Queue[Event]] = set()

    async def tell(self, event: Event) -> None:
        """Subscribe this to the run's bus."""
        self.begun = True
        for queue in self.followers:
            queue.put_nowait(event)


class Runs:
    """All runs of the service. Belongs to one event loop."""

    def __init__(self, candor: Candor, shelf: Shelf) -> None:
        self._candor, self._shelf = candor, shelf
        self.listeners: list[Subscriber] = []
        self._preparing = asyncio.Lock()
        self._slots = asyncio.Semaphore(candor.settings.service.runs)
        self._live: dict[str, LiveRun] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ending = False

    async def recover(self) -> None:
        """Mark as failed what a service that was killed left unfinished."""
        for run_id in self._claims.orphaned():
            with suppress(RunNotFound):  # it was killed before it had noted the run itself
                if not self._candor.trace.run(run_id).ended:
                    await self._candor.trace.break_off(run_id, Status.FAILED, _KILLED)
            self._claims.release(run_id)

    async def start(self, request: Request, collection: str) -> str:
        """Take a run on; gives its id at once. Raises AgentError for a request that cannot be followed, StoreError."""
        async with self._preparing:  # the first one makes what all the others share
            orchestrator = await asyncio.to_thread(self._prepare, request, collection)
        if self._ending:
            raise ServiceEnding
        live = LiveRun(new_run_id())
        self._claims.claim(live.run_id)
        self._candor.trace.expect(
            live.run_id, request.question.strip(), collection, self._models.get(request.model).model
        )
        self._live[live.run_id] = live
        task = asyncio.create_task(self._take_turn(live, orchestrator, request), name=live.run_id)
        self._tasks[live.run_id] = task
        task.add_done_callback(_report)
        return live.run_id

    async def wait(self, run_id: str) -> Answer:
        """The answer of a run of this process, when it has ended. Whoever waits may go away."""
        if task := self._tasks.get(run_id):
            await asyncio.wait({task})
            if not self._candor.trace.run(run_id).ended:
                task.result()  # raises what kept it from being stored
        return await asyncio.to_thread(self._candor.trace.answer, run_id)

    async def cancel(self, run_id: str) -> RunSummary:
        """End a run; one that has ended stays as it is. Raises RunNotFound; NotOurs if another process has it."""
        run = await asyncio.to_thread(self._candor.trace.run, run_id)
        if run.run_id in self._live:
            await self._end([run.run_id])
        elif not run.ended:
            raise NotOurs(
                f"Run {run.run_id!r} belongs to another process, such as `candor ask`; end it there, with Ctrl-C."
            )
        return await asyncio.to_thread(self._candor.trace.run, run.run_id)

    async def follow(self, run_id: str, after: int) -> AsyncIterator[Event | None]:
        """Every event of the run with a number over ``after``, once and in order, until it has ended.

        None stands for a time without an event. After the last event, the answer is there.
        """
        live = self._live.get(run_id)
        if live is None:
            async for event in self._follow_stored(run_id, after):
                yield event
            return
        queue: asyncio.Queue[Event] = asyncio.Queue()
        live.followers.add(queue)  # first; what is told while the trace is read is known by its number
        try:
            for stored in await asyncio.to_thread(self._candor.trace.events, run_id, after):
                after = stored.number
                yield await _settled(live, stored)
            while not live.ended.is_set() or not queue.empty():
                happened = await _next(queue, live)
                if happened is None:
                    yield None
                elif happened.number > after:
                    after = happened.number
                    yield await _settled(live, happened)
        finally:
            live.followers.discard(queue)

    async def stop(self) -> None:
        """Cancel every run, and take on no more. Idempotent."""
        self._ending = True
        await self._end(list(self._tasks))

    def _prepare(self, request: Request, collection: str) -> Orchestrator:
        """The panel over the collection, if it can follow the request."""
        orchestrator = self._candor.orchestrator(self._shelf.take(collection).library, self._models)
        orchestrator.chosen_plan(request.checked())
        return orchestrator

    async def _take_turn(self, live: LiveRun, orchestrator: Orchestrator, request: Request) -> None:
        try:
            async with self._slots:
                await orchestrator.research(request, live.tell, *self.listeners, run_id=live.run_id)
        except (AgentError, StoreError) as error:  # what it needs has gone while it waited, such as its saved plan
            await self._break_off(live, Status.FAILED, str(error))
        except asyncio.CancelledError:
            if not live.begun:
                await self._break_off(live, Status.CANCELLED, "The run was cancelled before its turn had come.")
            raise
        finally:
            del self._live[live.run_id], self._tasks[live.run_id]
            live.ended.set()
            if self._candor.trace.run(live.run_id).ended:  # else the next service marks it
                self._claims.release(live.run_id)

    async def _break_off(self, live: LiveRun, status: Status, reason: str) -> None:
        await live.tell(await self._candor.trace.break_off(live.run_id, status, reason))

    async def _end(self, run_ids: list[str]) -> None:
        """Cancel them and wait until they have been stored."""
        await asyncio.sleep(0)  # a task that is cancelled before its first step would never get to its own end
        tasks = [task for run_id in run_ids if (task := self._tasks.get(run_id))]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CANCEL_S)

    async def _follow_stored(self, run_id: str, after: int) -> AsyncIterator[Event | None]:
        """Of a run that has ended, or that another process works on."""
        trace, silent = self._candor.trace, 0.0
        while not self._ending:
            ended = (await asyncio.to_thread(trace.run, run_id)).ended  # before its events: none comes after it
            for event in await asyncio.to_thread(trace.events, run_id, after):
                after, silent = event.number, 0.0
                yield event
            if ended:
                return
            await asyncio.sleep(POLL_S)
            silent += POLL_S
            if silent >= IDLE_S:
                silent = 0.0
                yield None

    @cached_property
    def _claims(self) -> Claims:
        return Claims(self._candor.engine)

    @cached_property
    def _models(self) -> Models:
        """The same for all runs: they bound how many requests each endpoint gets at once."""
        return self._candor.models()


async def _next(queue: asyncio.Queue[Event], live: LiveRun) -> Event | None:
    """The next event, or None after a while without one, or when the run has ended."""
    getting, ending = asyncio.ensure_future(queue.get()), asyncio.ensure_future(live.ended.wait())
    try:
        await asyncio.wait({getting, ending}, timeout=IDLE_S, return_when=asyncio.FIRST_COMPLETED)
        return getting.result() if getting.done() else None
    finally:
        getting.cancel()
        ending.cancel()


async def _settled(live: LiveRun, event: Event) -> Event:
    """The event; the last one when the answer is stored, too."""
    if isinstance(event.body, RunFinished):
        await live.ended.wait()
    return event


def _report(task: asyncio.Task[None]) -> None:
    """A run that a defect ended is stored as failed; whoever runs the service has to see it, too."""
    if not task.cancelled() and (error := task.exception()):
        log.error("Run %s was ended by a defect", task.get_name(), exc_info=error)

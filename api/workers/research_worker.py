"""The research process: runs the tasks that the service sends and reports their progress.

It exits when the service says so, and at once when the service ends: another service may resume its runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from api.bootstrap import Candor
from api.services.documents.collection_pool import CollectionPool
from api.settings import Settings
from api.storage.fencing import fence, process_of
from api.workers.channel import Channel, RemoteError
from api.workers.contract import ResearchTask
from api.workers.in_process import InProcessResearcher
from api.workers.lock import research_lock
from api.workers.messages import CancelTask, Progress, Ready, StartTask, Stop, TaskEnded
from api.workers.panel import Panel
from multi_agent.evaluation.records import Row
from multi_agent.values.events import Event

_THREADS = 64  # most of them wait for the search process


def main(tasks: Connection) -> None:
    """Run tasks for the service at the other end of the connection, until it ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may be sent to the whole service; this process ends with it
        signal.signal(number, lambda *_: None)  # SIG_IGN would be inherited by the tool servers started here
    try:
        settings: Settings = tasks.recv()
    except EOFError:  # the service was killed just after its start
        return
    with research_lock(settings.home):
        asyncio.run(_run(settings, tasks))


async def _run(settings: Settings, tasks: Connection) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
    ResearchWorker(settings, tasks).start()
    await asyncio.Event().wait()


def _exit() -> None:
    """Exit without cleaning up: all state is in the database, and another process may resume the runs."""
    os._exit(0)


class ResearchWorker:
    """The running tasks of this process. Belongs to its event loop."""

    def __init__(self, settings: Settings, tasks: Connection) -> None:
        candor = Candor(settings, search_process=True)
        if process := process_of(candor.engine):
            fence(candor.engine, process)
        panel, pool = Panel(candor.panel, candor.evaluations), CollectionPool(candor.collections)
        self._researcher = InProcessResearcher(panel, pool)
        self._span_export = candor.span_export
        self._running: dict[int, asyncio.Task[Any]] = {}
        self._pausing: set[int] = set()
        loop = asyncio.get_running_loop()
        self._channel = Channel(tasks, lambda message: loop.call_soon_threadsafe(self._receive, message), _exit)

    def start(self) -> None:
        """Start to accept tasks."""
        self._channel.open()
        self._channel.send(Ready())

    def _receive(self, message: StartTask | CancelTask | Stop) -> None:
        match message:
            case StartTask():
                running = self._running[message.task] = asyncio.create_task(self._run(message))
                running.add_done_callback(partial(self._report_end, message.task))
            case CancelTask():
                self._cancel(message)
            case Stop():
                if self._span_export:
                    self._span_export.close()
                _exit()

    async def _run(self, start: StartTask) -> Any:
        task = start.task
        researcher, collection = self._researcher, start.collection

        def is_pausing() -> bool:
            return task in self._pausing

        def publish(item: Event | Row) -> None:
            self._channel.send(Progress(task, item))

        async def publish_event(event: Event) -> None:
            publish(event)

        if isinstance(start.spec, ResearchTask):
            return await researcher.research(start.spec, collection, publish_event, is_pausing)
        return await researcher.evaluate(start.spec, collection, publish, is_pausing)

    def _cancel(self, message: CancelTask) -> None:
        if running := self._running.get(message.task):  # else it has just ended
            if message.pausing:
                self._pausing.add(message.task)
            running.cancel()

    def _report_end(self, task: int, done: asyncio.Task[Any]) -> None:
        del self._running[task]
        self._pausing.discard(task)
        if done.cancelled():
            self._channel.send(TaskEnded(task))
        elif error := done.exception():
            self._channel.send(TaskEnded(task, error=RemoteError.from_exception(error)))
        else:
            self._channel.send(TaskEnded(task, done.result()))

"""The research process: runs the tasks that the service sends and reports their progress.

It exits when the service says so, and at once when the service ends: another service may resume its runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

from api.bootstrap import Candor
from api.services.documents.collection_pool import CollectionPool
from api.settings import Settings
from api.storage.fencing import fence, process_of
from api.workers.in_process import InProcessResearcher
from api.workers.lock import research_lock
from api.workers.research_process import CONNECT, READY, Work
from base.rpc import Call, answer
from multi_agent.evaluation.records import Row
from multi_agent.values.events import Event

_THREADS = 64  # most of them wait for the search process


def main(control: Connection) -> None:
    """Run tasks for the service at the other end of the connection, until it ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may be sent to the whole service; this process ends with it
        signal.signal(number, lambda *_: None)  # SIG_IGN would be inherited by the tool servers started here
    try:
        settings: Settings = control.recv()
    except EOFError:  # the service was killed just after its start
        return
    with research_lock(settings.home):
        asyncio.run(_run(settings, socket.socket(fileno=os.dup(control.fileno()))))


async def _run(settings: Settings, control: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(_THREADS))
    worker = ResearchWorker(settings, control)
    loop.add_reader(control, worker.hear)
    control.send(READY)
    await asyncio.Event().wait()


class ResearchWorker:
    """The running tasks of this process. Belongs to its event loop."""

    def __init__(self, settings: Settings, control: socket.socket) -> None:
        candor = Candor(settings, search_process=True)
        if process := process_of(candor.engine):
            fence(candor.engine, process)
        pool = CollectionPool(candor.collections)
        self._researcher = InProcessResearcher(candor.panel, candor.evaluations, pool)
        self._span_export = candor.span_export
        self._control = control
        self._running: set[asyncio.Task[None]] = set()

    def hear(self) -> None:
        """Answer a new call, or exit without cleaning up: all state is in the database, and others may resume it."""
        heard, ends, _, _ = socket.recv_fds(self._control, len(CONNECT), 1)
        if heard == CONNECT:
            running = asyncio.create_task(answer(socket.socket(fileno=ends[0]), self._work))
            self._running.add(running)
            running.add_done_callback(self._running.discard)
            return
        if heard and self._span_export:
            self._span_export.close()
        os._exit(0)

    async def _work(self, call: Call) -> bytes:
        work = Work.model_validate_json(call.request)

        async def publish_event(event: Event) -> None:
            call.publish(event.model_dump_json().encode())
            await call.flush()

        def publish_row(row: Row) -> None:
            call.publish(row.model_dump_json().encode())

        def is_pausing() -> bool:
            return call.pausing

        if work.research:
            await self._researcher.research(work.research, work.collection, publish_event, is_pausing)
            return b""
        assert work.evaluation
        return (await self._researcher.evaluate(work.evaluation, work.collection, publish_row, is_pausing)).encode()

"""What runs in the research process: does the tasks that the service hands it, and tells of them.

It ends when the service says so, and at once when the service is gone: another service may go on with its runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from api.settings import Settings
from api.workers.channel import Channel, RemoteError
from api.workers.contract import Research
from api.workers.messages import Begin, Cancel, Ended, Ready, Stop, Told
from api.workers.panel import Panel, only_researcher
from api.workers.service_client import RemoteCandor, RemoteLibrary, ServiceClient
from multi_agent.evaluation.records import Row
from multi_agent.events import Event

_THREADS = 64  # most of them wait for the service


def main(tasks: int, questions: int) -> None:
    """Serve the process that holds the other ends of both connections, until it is gone."""
    for each in (signal.SIGINT, signal.SIGTERM):  # may be sent to the whole service: this ends when that has ended
        signal.signal(each, lambda *_: None)  # not ignored, or the tools' servers, which it starts, would do so, too
    handed = Connection(tasks)
    try:
        settings: Settings = handed.recv()
    except EOFError:  # the service was killed a moment after it had begun
        return
    with only_researcher(settings.home):
        asyncio.run(_work(settings, handed, Connection(questions)))


async def _work(settings: Settings, handed: Connection, questions: Connection) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
    Worker(settings, handed, ServiceClient(questions, _end)).begin()
    await asyncio.Event().wait()


def _end() -> None:
    """At once, whatever is under way: all that counts is in the database, and another process may go on with it."""
    os._exit(0)


class Worker:
    """All that is under way in this process. Belongs to its event loop."""

    def __init__(self, settings: Settings, handed: Connection, service: ServiceClient) -> None:
        self._candor, self._service = RemoteCandor(settings, service), service
        self._panel = Panel(self._candor)
        self._doing: dict[int, asyncio.Task[Any]] = {}
        self._resting: set[int] = set()
        loop = asyncio.get_running_loop()
        self._line = Channel(handed, lambda said: loop.call_soon_threadsafe(self._hear, said), _end)

    def begin(self) -> None:
        """Do what is handed over."""
        self._line.open()
        self._line.say(Ready())

    def _hear(self, said: Begin | Cancel | Stop) -> None:
        match said:
            case Begin():
                doing = self._doing[said.task] = asyncio.create_task(self._do(said))
                doing.add_done_callback(partial(self._tell_end, said.task))
            case Cancel():
                self._cancel(said)
            case Stop():
                _end()

    async def _do(self, begin: Begin) -> Any:
        number = begin.task
        library = RemoteLibrary(begin.collection, self._candor, self._service, number)

        def rests() -> bool:
            return number in self._resting

        def tell(what: Event | Row) -> None:
            self._line.say(Told(number, what))

        async def tell_event(event: Event) -> None:
            tell(event)

        if isinstance(begin.order, Research):
            return await self._panel.research(begin.order, library, tell_event, rests)
        return await self._panel.evaluate(begin.order, library, tell, rests)

    def _cancel(self, cancel: Cancel) -> None:
        if doing := self._doing.get(cancel.task):  # else it has just ended
            if cancel.rests:
                self._resting.add(cancel.task)
            doing.cancel()

    def _tell_end(self, number: int, done: asyncio.Task[Any]) -> None:
        del self._doing[number]
        self._resting.discard(number)
        if done.cancelled():
            self._line.say(Ended(number))
        elif error := done.exception():
            self._line.say(Ended(number, error=RemoteError.of(error)))
        else:
            self._line.say(Ended(number, done.result()))

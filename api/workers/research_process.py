"""One research process of the service, from its start to its end.

The service passes it one end of a new connection per task (``base/rpc.py``). The first connection, which it inherits,
carries only these ends, a byte when it is ready, and its end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

from pydantic import Field

from api.errors import ResearchLost
from api.settings import Settings
from api.workers.contract import EvaluationTask, ResearchTask
from base.models import FrozenModel
from base.process import ChildProcess
from base.rpc import Cancel, Channel, Disconnected, call

log = logging.getLogger(__name__)

CONNECT, STOP, READY = b"c", b"s", b"r"
"""``CONNECT`` comes with the end of a connection, ``STOP`` when no task is running and none will follow."""
_NICENESS = 5  # see docs/concurrency.md
_EXIT_TIMEOUT_S = 5.0
_CANCEL_S = 30.0  # storing the state of a run takes milliseconds, unless the database is away

Publish = Callable[[bytes], Awaitable[None]]
"""Receives the events of a run, or the rows of an evaluation, as JSON."""


class Work(FrozenModel):
    """The request for a task over a collection."""

    collection: str
    research: ResearchTask | None = Field(default=None, description="the run to start or to resume")
    evaluation: EvaluationTask | None = Field(default=None, description="the evaluation, if it is not a run")


class ResearchProcess:
    """A child process that runs tasks. Belongs to the event loop that creates it."""

    def __init__(self, settings: Settings) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._running, self._was_ready, self._stopping = 0, False, False
        self._process = ChildProcess("api.workers.research_worker:main", nice=_NICENESS, network=True)
        [connection] = self._process.connections
        connection.send(settings)
        self._control = socket.socket(fileno=os.dup(connection.fileno()))
        self._loop.add_reader(self._control, self._hear)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._ended.is_set()

    @property
    def start_failure(self) -> str:
        """A description of how the process ended before it was ready. Empty if it became ready."""
        return self._end_message() if self.ended and not self._was_ready else ""

    async def run(self, work: Work, publish: Publish, is_pausing: Callable[[], bool]) -> bytes:
        """Run a task and return its result. Raises the task's error, or ResearchLost if the process ends first."""
        self._running += 1
        try:
            channel = await self._connect()
            calling = asyncio.create_task(call(channel, work, publish))
            try:
                return await asyncio.shield(calling)
            except asyncio.CancelledError:
                channel.write(Cancel(pausing=is_pausing()))
                await self._confirm(calling)
                raise
            finally:
                channel.close()
        except Disconnected as error:
            self._process.kill()  # else a process that lost only this connection would be waited for
            await self._ended.wait()
            raise ResearchLost(self._end_message()) from error
        finally:
            self._running -= 1

    async def _connect(self) -> Channel:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [CONNECT], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise Disconnected from error
        return await Channel.over(ours)

    async def _confirm(self, calling: asyncio.Task[bytes]) -> None:
        """Wait until the cancelled task has ended. A process that does not react is killed."""
        limit = self._loop.time() + _CANCEL_S
        while not calling.done():
            with suppress(asyncio.CancelledError):  # the cancellation was sent
                await asyncio.wait({calling}, timeout=max(0.0, limit - self._loop.time()))
                if not calling.done():
                    log.error("The research process %d did not cancel a task within %g s.", self.pid, _CANCEL_S)
                    self._process.kill()
                    limit = self._loop.time() + _CANCEL_S
        calling.exception()  # it does not matter, because the task was cancelled

    async def stop(self) -> None:
        """End the process. No task may be running."""
        self._stopping = True
        if self._was_ready:
            with suppress(OSError):  # it has ended already
                self._control.send(STOP)
        else:  # the process has just been started and cannot receive messages yet
            self._process.kill()
        try:
            await asyncio.wait_for(self._ended.wait(), _EXIT_TIMEOUT_S)
        except TimeoutError:  # it hangs
            self._process.kill()
            await self._ended.wait()
        self._process.close()

    def _hear(self) -> None:
        try:
            heard = self._control.recv(1)
        except OSError:
            heard = b""
        if heard:
            self._was_ready = True
            return
        self._loop.remove_reader(self._control)
        self._control.close()
        self._ending = asyncio.create_task(self._end())

    async def _end(self) -> None:
        """Wait until the process has exited, which takes a moment longer than the end of its connection."""
        if not self._stopping:
            self._process.kill()
        await asyncio.to_thread(self._process.wait, _EXIT_TIMEOUT_S)
        self._ended.set()
        if not self._stopping:
            log.error("%s It ran %d tasks.", self._end_message(), self._running)

    def _end_message(self) -> str:
        return f"The research process {self.pid} ended ({self._process.exit_description})."

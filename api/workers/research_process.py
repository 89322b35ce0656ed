"""Manages a research process for the service. Starts it, sends it tasks, and handles its end."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from api.errors import ResearchLost
from api.settings import Settings
from api.workers.channel import Channel, RemoteError
from api.workers.contract import EvaluationTask, ResearchTask
from api.workers.messages import (
    CancelTask,
    Progress,
    Ready,
    StartTask,
    Stop,
    TaskEnded,
)
from base.process import ChildProcess

log = logging.getLogger(__name__)

_NICENESS = 5  # see docs/concurrency.md
_EXIT_TIMEOUT_S = 5.0
_CANCEL_S = 30.0  # storing the state of a run takes milliseconds, unless the database is away

Publish = Callable[[Any], Awaitable[None]]


class ResearchProcess:
    """One research process. Belongs to the event loop that creates it."""

    def __init__(self, settings: Settings) -> None:
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._inboxes: dict[int, asyncio.Queue[Progress | TaskEnded]] = {}
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._stopping = False
        self._was_ready = False
        self.ended = False
        self._process = ChildProcess("api.workers.research_worker:main", nice=_NICENESS, network=True)
        [tasks] = self._process.connections
        self._tasks = Channel(
            tasks, lambda message: self._loop.call_soon_threadsafe(self._receive, message), self._disconnected
        )
        self._tasks.open()
        self._tasks.send(settings)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def start_failure(self) -> str:
        """A description of how the process ended before it was ready. Empty if it became ready."""
        return self._end_message() if self.ended and not self._was_ready else ""

    async def run(
        self, spec: ResearchTask | EvaluationTask, collection: str, publish: Publish, is_pausing: Callable[[], bool]
    ) -> Any:
        """Run a task and return its result. Raises the task's error, or ResearchLost if the process ends first."""
        await asyncio.shield(self._ready)
        if self.ended:
            raise ResearchLost(self._end_message())
        task = next(self._numbers)
        inbox = self._inboxes[task] = asyncio.Queue()
        self._tasks.send(StartTask(task, spec, collection))
        ending = asyncio.create_task(_publish_until_ended(inbox, publish))
        try:
            ended = await asyncio.shield(ending)
        except asyncio.CancelledError:
            self._tasks.send(CancelTask(task, is_pausing()))
            await self._confirm(ending)
            raise
        except Exception:  # ``publish`` raised, so the task is cancelled and fails with this error
            self._tasks.send(CancelTask(task, pausing=False))
            await _publish_until_ended(inbox, _discard)
            raise
        finally:
            del self._inboxes[task]
        if ended.error:
            raise ended.error.to_exception()
        return ended.result

    async def _confirm(self, ending: asyncio.Task[TaskEnded]) -> None:
        """Wait until the cancelled task has ended. A process that does not react is killed."""
        limit = self._loop.time() + _CANCEL_S
        while not ending.done():
            with suppress(asyncio.CancelledError):  # the cancellation was sent
                await asyncio.wait({ending}, timeout=max(0.0, limit - self._loop.time()))
                if not ending.done():
                    log.error("The research process %d did not cancel a task within %g s.", self.pid, _CANCEL_S)
                    self._process.kill()
                    limit = self._loop.time() + _CANCEL_S

    async def stop(self) -> None:
        """End the process. No task may be running."""
        self._stopping = True
        if self._ready.done():
            self._tasks.send(Stop())
        else:  # the process has just been started and cannot receive messages yet
            self._process.kill()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._process.wait(_EXIT_TIMEOUT_S)
        self._tasks.close()
        self._process.close()

    # Messages from the process

    def _receive(self, message: Ready | Progress | TaskEnded) -> None:
        if not isinstance(message, Ready):
            self._inboxes[message.task].put_nowait(message)
        elif not self._ready.done():
            self._was_ready = True
            self._ready.set_result(None)

    # The end of the process

    def _disconnected(self) -> None:
        if not self._stopping:
            self._process.kill()
        self._process.wait(_EXIT_TIMEOUT_S)
        self._loop.call_soon_threadsafe(self._handle_end)

    def _handle_end(self) -> None:
        """Log the end of the process and fail its tasks, unless it was stopped."""
        self.ended = True
        if not self._ready.done():
            self._ready.set_result(None)
        if self._stopping:
            return
        lost = RemoteError(ResearchLost, (self._end_message(),), {})
        log.error("%s It ran %d tasks.", self._end_message(), len(self._inboxes))
        for task, inbox in self._inboxes.items():
            inbox.put_nowait(TaskEnded(task, error=lost))

    def _end_message(self) -> str:
        return f"The research process {self.pid} ended ({self._process.exit_description})."


async def _publish_until_ended(inbox: asyncio.Queue[Progress | TaskEnded], publish: Publish) -> TaskEnded:
    while not isinstance(message := await inbox.get(), TaskEnded):
        await publish(message.item)
    return message


async def _discard(_: object) -> None:
    """Publish nothing."""

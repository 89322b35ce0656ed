"""A research process as the service sees it: started, handed tasks, asked by it, and seen off when it has ended."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import Pipe
from typing import Any

from api.errors import ResearchLost
from api.services.priority_executor import PriorityExecutor
from api.settings import Settings
from api.workers.channel import Channel, RemoteError
from api.workers.contract import EvaluationJobSpec, Research
from api.workers.messages import Ask, Begin, Cancel, Ended, Ready, Reply, Stop, Told
from multi_agent.library import Library
from vectorstore.store import Vectors

log = logging.getLogger(__name__)

_ASKED_AT_ONCE = min(4, max(1, (os.cpu_count() or 1) // 2))
"""Searches of runs that are done at once. Each more takes processors, and the interpreter's lock, from whoever searches
over HTTP; a run, whose model calls take seconds, can wait."""
_GIVES_WAY_S = 0.5  # for a search of a run, while somebody searches by hand
_END_S = 5.0
_NICE = 5
"""Its priority is lower than the service's: whoever searches or reads a page waits for it, and a run takes seconds
anyway."""
_COMMAND = f"""
import os, sys
os.nice({_NICE})
sys.path[:] = sys.argv[3:]
from api.workers.child import main
main(tasks=int(sys.argv[1]), questions=int(sys.argv[2]))
"""

Tell = Callable[[Any], Awaitable[None]]


class ResearchProcess:
    """One process, from its start to its end. Belongs to the event loop that makes it."""

    def __init__(self, settings: Settings, embed: Callable[[str], Vectors], precedence: PriorityExecutor) -> None:
        self._embed, self._precedence = embed, precedence
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._inboxes: dict[int, asyncio.Queue[Told | Ended]] = {}
        self._libraries: dict[int, Library] = {}
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._threads = ThreadPoolExecutor(_ASKED_AT_ONCE, thread_name_prefix="research")
        self._stopping = False
        self._begun = False
        self.gone = False
        tasks, their_tasks = Pipe()
        questions, their_questions = Pipe()
        theirs = (their_tasks.fileno(), their_questions.fileno())
        # A fresh interpreter, so that neither the threads nor the embedding model of the service come along.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, *map(str, theirs), *sys.path],
            stdin=subprocess.DEVNULL,
            stdout=2,  # standard output is for what the service itself has to say
            pass_fds=theirs,
            start_new_session=True,  # an interrupt from the keyboard is for the service to handle
        )
        their_tasks.close()
        their_questions.close()
        self._tasks = Channel(tasks, lambda said: self._loop.call_soon_threadsafe(self._hear, said), self._see_off)
        self._questions = Channel(
            questions, self._asked, self._process.kill
        )  # with one connection gone, it is of no use
        self._tasks.open()
        self._questions.open()
        self._tasks.say(settings)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def stillborn(self) -> str:
        """How it ended without ever having been able to work; empty for every other one."""
        return self._end_in_words() if self.gone and not self._begun else ""

    async def do(
        self, order: Research | EvaluationJobSpec, library: Library, tell: Tell, rests: Callable[[], bool]
    ) -> Any:
        """The result of the task. Raises what came up in it; ResearchLost if the process ends before it."""
        await asyncio.shield(self._ready)
        if self.gone:
            raise ResearchLost(self._end_in_words())
        task = next(self._numbers)
        inbox = self._inboxes[task] = asyncio.Queue()
        self._libraries[task] = library
        self._tasks.say(Begin(task, order, library.collection))
        ending = asyncio.create_task(self._until_ended(inbox, tell))
        try:
            ended = await asyncio.shield(ending)
        except asyncio.CancelledError:
            self._tasks.say(Cancel(task, rests()))
            while not ending.done():
                with suppress(asyncio.CancelledError):  # it has been told; it is over when it says so
                    await asyncio.wait({ending})
            raise
        except Exception:  # whoever is told of it failed: it ends as if that had been the task's own failure
            self._tasks.say(Cancel(task, rests=False))
            await self._until_ended(inbox, _nobody)
            raise
        finally:
            del self._inboxes[task], self._libraries[task]
        if ended.error:
            raise ended.error.error()
        return ended.result

    async def stop(self) -> None:
        """End the process, in which nothing is under way any more."""
        self._stopping = True
        if self._ready.done():
            self._tasks.say(Stop())
        else:  # it has just been started, and does not listen yet
            self._process.kill()
        await asyncio.to_thread(self._release)

    def _release(self) -> None:
        self._ended()
        self._tasks.release()
        self._questions.release()
        self._threads.shutdown(cancel_futures=True)

    # What it says; all but the first in threads

    async def _until_ended(self, inbox: asyncio.Queue[Told | Ended], tell: Tell) -> Ended:
        while not isinstance(said := await inbox.get(), Ended):
            await tell(said.what)
        return said

    def _hear(self, said: Ready | Told | Ended) -> None:
        if not isinstance(said, Ready):
            self._inboxes[said.task].put_nowait(said)
        elif not self._ready.done():
            self._begun = True
            self._ready.set_result(None)

    def _asked(self, ask: Ask) -> None:
        self._threads.submit(self._answer, ask).add_done_callback(partial(self._reply, ask.number))

    def _answer(self, ask: Ask) -> Any:
        self._precedence.give_way(_GIVES_WAY_S)
        match ask.what:
            case "search":
                return self._libraries[ask.task].search(*ask.arguments)
            case "scan":
                return self._libraries[ask.task].scan(*ask.arguments)
            case "embed":
                return self._embed(*ask.arguments)

    def _reply(self, number: int, answered: Future[Any]) -> None:
        if answered.cancelled():  # the service ends
            return
        error = answered.exception()
        reply = Reply(number, error=RemoteError.of(error)) if error else Reply(number, answered.result())
        self._questions.say(reply)

    # Its end

    def _see_off(self) -> None:
        """The connection is closed: it has ended, or is of no use any more."""
        if not self._stopping:
            self._process.kill()
        self._ended()
        self._loop.call_soon_threadsafe(self._left)

    def _ended(self) -> int:
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _left(self) -> None:
        """Tell of it in the log, and whoever waits for a task."""
        self.gone = True
        if not self._ready.done():
            self._ready.set_result(None)
        if self._stopping:
            return
        lost = RemoteError(ResearchLost, (self._end_in_words(),), {})
        log.error("%s There were %d tasks in it.", self._end_in_words(), len(self._inboxes))
        for task, inbox in self._inboxes.items():
            inbox.put_nowait(Ended(task, error=lost))

    def _end_in_words(self) -> str:
        status = self._process.returncode or 0
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"The research process {self.pid} ended ({how})."


async def _nobody(_: object) -> None:
    """Who is told of a task that nobody is told of any more."""

"""Research in a child process, which keeps the service responsive for searches and reads.

All runs and evaluations share that process, so they share the request limit of each model endpoint. The process does
not open collections and does not load the embedding model. It uses both through the search process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from api.errors import ResearchLost, ServiceEnding
from api.settings import Settings
from api.workers.contract import EvaluationTask, ResearchTask
from api.workers.research_process import Publish, ResearchProcess, Work
from multi_agent.evaluation.records import Row, State
from multi_agent.values.bus import Subscriber
from multi_agent.values.events import Event

_ATTEMPTS = 2


class SubprocessResearcher:
    """Implements ``Researcher``. When its process ends unexpectedly, a new one resumes the tasks."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._start_lock = asyncio.Lock()
        self._process: ResearchProcess | None = None
        self._closing = False

    async def start(self) -> None:
        """Start the process without waiting until it is ready, which takes a second or two."""
        await self._running_process()

    async def research(
        self, task: ResearchTask, collection: str, publish: Subscriber, is_pausing: Callable[[], bool]
    ) -> None:
        async def publish_event(item: bytes) -> None:
            await publish(Event.model_validate_json(item))

        await self._run(Work(collection=collection, research=task), publish_event, is_pausing)

    async def evaluate(
        self, task: EvaluationTask, collection: str, publish: Callable[[Row], None], is_pausing: Callable[[], bool]
    ) -> State:
        async def publish_row(item: bytes) -> None:
            publish(Row.model_validate_json(item))

        result = await self._run(Work(collection=collection, evaluation=task), publish_row, is_pausing)
        return State(result.decode())

    @property
    def pid(self) -> int | None:
        """The id of the current process."""
        return self._process.pid if self._process and not self._process.ended else None

    @property
    def unavailable_reason(self) -> str:
        """A description of how the last process ended if it was never ready. The next task starts a new process."""
        return self._process.start_failure if self._process else ""

    async def close(self) -> None:
        """End the process. No task may be running. May be called again."""
        self._closing = True
        async with self._start_lock:
            process, self._process = self._process, None
            if process:
                await process.stop()

    async def _run(self, work: Work, publish: Publish, is_pausing: Callable[[], bool]) -> bytes:
        """Run a task. If the process ends, resume the task once in a new process."""
        for _ in range(_ATTEMPTS):
            process = await self._running_process()
            try:
                return await process.run(work, publish, is_pausing)
            except ResearchLost as error:
                lost = error
        raise ResearchLost(
            f"{lost} This was the second process that ended during this task, so the task is not retried. The task may "
            "be the cause, for example because it exhausts memory. See the service's log."
        )

    async def _running_process(self) -> ResearchProcess:
        async with self._start_lock:
            if self._closing:
                raise ServiceEnding
            if self._process is None or self._process.ended:
                if self._process:
                    await self._process.stop()
                self._process = ResearchProcess(self._settings)
            return self._process

"""Jobs without their service: of a kind made for the test, over the real DBOS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pydantic import JsonValue

from api.errors import JobFailed
from api.jobs.queue import JobQueue
from api.jobs.runner import ActiveJob, Job, JobHandler, JobKind, Jobs, JobStatus, Order, Priority
from api.settings import Settings

PATIENCE_S = 30


class Errand:
    """Work that lasts as long as its order says, in seconds, and notes what became of it."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.done: list[str] = []
        self.abandoned: dict[str, str] = {}
        self.peak = 0
        self._under_way = 0

    async def work(self, taken: ActiveJob) -> JsonValue:
        if taken.order.content == "impossible":
            raise JobFailed("There is no such place.")
        if taken.order.content == "defect":
            raise ZeroDivisionError("by a hair")
        self.begun.append(taken.order.id)
        self._under_way += 1
        self.peak = max(self.peak, self._under_way)
        taken.progress = "on the way"
        try:
            await asyncio.sleep(float(taken.order.content))
        finally:
            self._under_way -= 1
        self.done.append(taken.order.id)
        return {"seconds": taken.order.content}

    async def abandon(self, order: Order, status: JobStatus, reason: str) -> None:
        self.abandoned[order.id] = f"{status.value}: {reason}"


def errand(name: str, seconds: float | str = 0.0, key: str = "ann", priority: Priority = Priority.NORMAL) -> Order:
    """An order of it."""
    return Order(
        id=name, kind=JobKind.RESEARCH, collection="papers", key=key, content=str(seconds), priority=priority
    )  # fmt: skip


def jobs_of(settings: Settings, work: JobHandler) -> Jobs:
    """Jobs that are errands."""
    jobs = Jobs(JobQueue(settings))
    jobs.offer(JobKind.RESEARCH, work)
    return jobs


@asynccontextmanager
async def working(jobs: Jobs) -> AsyncIterator[Jobs]:
    """The jobs are taken on and done, until the end of the block; then what is unfinished rests."""
    await jobs.begin()
    try:
        yield jobs
    finally:
        await jobs.end()


async def ended(jobs: Jobs, job_id: str) -> Job:
    """The job when it has ended."""
    while not (job := await jobs.job(job_id)).status.ended:  # noqa: ASYNC110 (it may end in another process)
        await asyncio.sleep(0.02)
    return job


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait for what is about to happen."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 (anything may be waited for)
            await asyncio.sleep(0.01)

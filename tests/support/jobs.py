"""Jobs without the service: a handler for tests, over the real DBOS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import JsonValue

from api.errors import UsageError
from api.jobs.models import ActiveJob, Job, JobHandler, JobKind, JobSpec, JobStatus, Priority
from api.jobs.queue import JobQueue
from api.jobs.runner import Jobs
from api.settings import Settings
from support.waiting import LIMIT_S

HELD = "held"
"""Instead of seconds: the job runs until the handler's ``resume`` is set."""


class SleepHandler(JobHandler):
    """Sleeps for as many seconds as the spec's content says, or until it may resume, and records what it did."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.done: list[str] = []
        self.aborted: dict[str, str] = {}
        self.max_active = 0
        self.resume = asyncio.Event()
        self._active = 0

    async def run(self, job: ActiveJob) -> JsonValue:
        if job.spec.content == "failure":
            raise UsageError("There is no such place.")
        if job.spec.content == "bug":
            raise ZeroDivisionError("unexpected")
        self.started.append(job.spec.id)
        self._active += 1
        self.max_active = max(self.max_active, self._active)
        job.progress = "halfway"
        try:
            await (self.resume.wait() if job.spec.content == HELD else asyncio.sleep(float(job.spec.content)))
        finally:
            self._active -= 1
        self.done.append(job.spec.id)
        return {"seconds": job.spec.content}

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        self.aborted[spec.id] = f"{status.value}: {reason}"


def sleep_job(name: str, seconds: float | str = 0.0, key: str = "ann", priority: Priority = Priority.NORMAL) -> JobSpec:
    """Return a job for ``SleepHandler``."""
    return JobSpec(
        id=name, kind=JobKind.RESEARCH, collection="papers", key=key, content=str(seconds), priority=priority
    )  # fmt: skip


def make_jobs(settings: Settings, handler: JobHandler, **options: Any) -> Jobs:
    """Return jobs with this handler for research jobs."""
    jobs = Jobs(JobQueue(settings), **options)
    jobs.register(JobKind.RESEARCH, handler)
    return jobs


@asynccontextmanager
async def running(jobs: Jobs) -> AsyncIterator[Jobs]:
    """Run jobs until the end of the block, then pause them."""
    await jobs.start()
    try:
        yield jobs
    finally:
        await jobs.close()


async def wait_until_ended(jobs: Jobs, job_id: str) -> Job:
    """Return the job after it has ended."""
    async with asyncio.timeout(LIMIT_S):
        while not (job := await jobs.get(job_id)).status.ended:  # noqa: ASYNC110 (it may end in another process)
            await asyncio.sleep(0.02)
    return job

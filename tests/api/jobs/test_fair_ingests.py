"""Ingests of several keys take turns, and ingests into one collection wait without a slot."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.jobs.models import JobKind, JobSpec, JobStatus
from api.jobs.queue import JobQueue
from api.jobs.runner import Jobs
from api.settings import Settings
from support.jobs import HELD, SleepHandler, running, wait_until_ended
from support.waiting import wait_for


@pytest.fixture
def handler() -> SleepHandler:
    return SleepHandler()


@pytest.fixture
async def jobs(tmp_path: Path, handler: SleepHandler) -> AsyncIterator[Jobs]:
    """Jobs with the default number of ingests."""
    jobs = Jobs(JobQueue(Settings(home=tmp_path / "home")))
    jobs.register(JobKind.INGEST, handler)
    async with running(jobs):
        yield jobs


def ingest_job(key: str, collection: str, seconds: float | str = 0.0) -> JobSpec:
    return JobSpec(id=f"{key} {collection}", kind=JobKind.INGEST, collection=collection, key=key, content=str(seconds))


async def test_long_ingests_of_one_key_leave_a_slot_for_others(jobs: Jobs, handler: SleepHandler) -> None:
    for collection in ("a", "b", "c"):
        await jobs.submit(ingest_job("ann", collection, HELD))
    await wait_for(lambda: handler.started == ["ann a"])
    await jobs.submit(ingest_job("ben", "d"))
    assert (await wait_until_ended(jobs, "ben d")).status is JobStatus.DONE
    assert handler.started == ["ann a", "ben d"]
    handler.resume.set()
    await wait_for(lambda: len(handler.done) == 4)


async def test_an_ingest_that_waits_for_its_collection_holds_no_slot(jobs: Jobs, handler: SleepHandler) -> None:
    await jobs.submit(ingest_job("ann", "papers", HELD))
    await wait_for(lambda: handler.started == ["ann papers"])
    await jobs.submit(ingest_job("ben", "papers"))
    await jobs.submit(ingest_job("cas", "notes"))
    assert (await wait_until_ended(jobs, "cas notes")).status is JobStatus.DONE
    await wait_for(lambda: "ben papers" in jobs.states())  # DBOS has handed it out, and the process knows that it waits
    waiting = await jobs.get("ben papers")
    assert (waiting.status, waiting.started_at) == (JobStatus.WAITING, None)
    listed = await jobs.list(JobKind.INGEST, [JobStatus.WAITING], None, 10, lambda _: True)
    assert [job.id for job in listed] == ["ben papers"]
    assert (await jobs.cancel("ben papers")).status is JobStatus.CANCELLED
    handler.resume.set()
    await wait_until_ended(jobs, "ann papers")
    assert handler.started == ["ann papers", "cas notes"]

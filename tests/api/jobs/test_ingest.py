"""Ingesting as a job: how far it is, what came of it, cancelled between two files, gone on with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from api.auth.permissions import AT_THIS_MACHINE
from api.bootstrap import Candor
from api.jobs.ingest import IngestJobs
from api.jobs.queue import JobQueue
from api.jobs.runner import Jobs, JobStatus
from api.services.collection_pool import CollectionPool
from api.services.ingest import IngestJobSpec
from support.jobs import ended, eventually, working

FILES = 12


@pytest.fixture
def candor(make_candor: Callable[..., Candor]) -> Candor:
    """With nothing in it yet; small batches, so that there is much between beginning and end."""
    return make_candor(ingest={"embed_batch": 1})


@pytest.fixture
async def jobs(candor: Candor) -> AsyncIterator[Jobs]:
    """That ingest."""
    pool, jobs = CollectionPool(candor), Jobs(JobQueue(candor.settings))
    IngestJobs(candor, pool, jobs)
    async with working(jobs):
        yield jobs
    pool.close()


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A folder of documents."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.txt").write_text(f"Pump {number} is quiet.")
    return folder


def order_of(folder: Path) -> IngestJobSpec:
    return IngestJobSpec(collection="papers", paths=(str(folder),))


async def test_an_ingest_is_a_job(candor: Candor, jobs: Jobs, folder: Path) -> None:
    order = order_of(folder)
    taken_on, again = [await jobs.submit_ingest(order, AT_THIS_MACHINE, "upload-1") for _ in range(2)]
    assert taken_on.id == again.id
    job = await ended(jobs, taken_on.id)
    assert (job.status, job.kind, job.collection, job.error) == (JobStatus.DONE, "ingest", "papers", None)
    assert isinstance(job.result, dict)
    assert (job.result["indexed"], job.result["cancelled"]) == (2, False)
    assert isinstance(job.progress, dict)
    assert job.progress["files_done"] == 2
    assert {document.chunks > 0 for document in candor.ledger.list("papers")} == {True}


async def test_an_ingest_that_cannot_be_done_says_why(jobs: Jobs, tmp_path: Path) -> None:
    taken_on = await jobs.submit_ingest(order_of(tmp_path / "nowhere"), AT_THIS_MACHINE)
    job = await ended(jobs, taken_on.id)
    assert job.status is JobStatus.FAILED
    assert "nowhere" in (job.error or "")


async def test_an_ingest_is_cancelled_between_two_files_and_the_next_does_the_rest(
    candor: Candor, jobs: Jobs, many: Path
) -> None:
    first = await jobs.submit_ingest(order_of(many), AT_THIS_MACHINE)
    await eventually(lambda: any(document.chunks for document in candor.ledger.list("papers")))
    assert (await jobs.cancel(first.id)).status is JobStatus.CANCELLED
    done = sum(document.chunks > 0 for document in candor.ledger.list("papers"))
    assert 0 < done < FILES

    second = await ended(jobs, (await jobs.submit_ingest(order_of(many), AT_THIS_MACHINE)).id)
    assert isinstance(second.result, dict)
    assert (second.result["unchanged"], second.result["indexed"]) == (done, FILES - done)


async def test_an_ingest_that_the_service_left_goes_on(candor: Candor, many: Path) -> None:
    for _ in range(2):
        pool, jobs = CollectionPool(candor), Jobs(JobQueue(candor.settings))
        IngestJobs(candor, pool, jobs)
        async with working(jobs):
            if not await jobs.list(None, (), None, 1, lambda _: True):
                left = await jobs.submit_ingest(order_of(many), AT_THIS_MACHINE)
                await eventually(lambda: any(document.chunks for document in candor.ledger.list("papers")))
            else:
                job = await asyncio.wait_for(ended(jobs, left.id), 60)
        pool.close()
    assert job.status is JobStatus.DONE
    assert isinstance(job.result, dict)
    assert job.result["unchanged"] + job.result["indexed"] == FILES
    assert job.result["unchanged"] > 0, "what was finished was not done again"

"""Ingest jobs: progress, result, cancellation, and resumption."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from api.auth.permissions import LOCAL_CALLER
from api.bootstrap import Candor
from api.jobs import handlers as ingest_jobs
from api.jobs.handlers import IngestJobs, submit_ingest
from api.jobs.models import JobStatus
from api.jobs.queue import JobQueue
from api.jobs.runner import Jobs
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.ingest import run_ingest_job
from ingest.ledger.lock import STALE_S, ingest_lock
from ingest.ledger.schema import UNDER_WAY
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport, Progress
from support.jobs import running, wait_until_ended
from support.waiting import until, wait_for

FILES = 12
TAKEN_OVER_AFTER_S = 5.0


@pytest.fixture
def candor(make_candor: Callable[..., Candor], tmp_path: Path) -> Candor:
    """An empty home folder; batches of one, so that an ingest takes many steps."""
    return make_candor(ingest={"embed_batch": 1}, service={"ingest_roots": (tmp_path,)})


@pytest.fixture
def waits_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ingest waits, after its first file, until it is cancelled."""
    waited: list[Progress] = []

    def run(*args: Any) -> IngestReport:
        *others, report, cancelled = args

        def report_and_wait(progress: Progress) -> None:
            report(progress)
            if progress.files_done == 1 and not waited:
                waited.append(progress)
                until(cancelled)

        return run_ingest_job(*others, report_and_wait, cancelled)

    monkeypatch.setattr(ingest_jobs, "run_ingest_job", run)


@pytest.fixture
async def jobs(candor: Candor) -> AsyncIterator[Jobs]:
    pool, jobs = CollectionPool(candor.collections), Jobs(JobQueue(candor.settings))
    IngestJobs(candor.ingest, pool, jobs)
    async with running(jobs):
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


def ingest_of(folder: Path) -> IngestRequest:
    return IngestRequest(collection="papers", paths=(str(folder),))


async def test_an_ingest_is_a_job(candor: Candor, jobs: Jobs, folder: Path) -> None:
    first, second = [await submit_ingest(jobs, ingest_of(folder), LOCAL_CALLER, "upload-1") for _ in range(2)]
    assert first.id == second.id
    job = await wait_until_ended(jobs, first.id)
    assert (job.status, job.kind, job.collection, job.error) == (JobStatus.DONE, "ingest", "papers", None)
    assert isinstance(job.result, dict)
    assert (job.result["indexed"], job.result["cancelled"]) == (2, False)
    assert isinstance(job.progress, dict)
    assert job.progress["files_done"] == 2
    assert {document.chunks > 0 for document in candor.ledger.list("papers")} == {True}


async def test_a_failed_ingest_names_the_missing_path(jobs: Jobs, tmp_path: Path) -> None:
    submitted = await submit_ingest(jobs, ingest_of(tmp_path / "nowhere"), LOCAL_CALLER)
    job = await wait_until_ended(jobs, submitted.id)
    assert job.status is JobStatus.FAILED
    assert "nowhere" in (job.error or "")


async def test_ingests_wait_until_a_command_has_ended(candor: Candor, jobs: Jobs, folder: Path) -> None:
    with ingest_lock(candor.engine, "papers"):
        ids = [(await submit_ingest(jobs, ingest_of(folder), LOCAL_CALLER)).id for _ in range(3)]
        await wait_for(lambda: any(state.waits_for for state in jobs.states().values()))
        listed = await jobs.list(None, (JobStatus.WAITING,), "papers", 10, lambda _: True)
        assert {job.id for job in listed} == set(ids)
        assert any("is being changed by process" in (job.waits_for or "") for job in listed)
        assert (await jobs.cancel(ids[0])).status is JobStatus.CANCELLED
    for job_id in ids[1:]:
        job = await wait_until_ended(jobs, job_id)
        assert (job.status, job.waits_for) == (JobStatus.DONE, None)


async def test_an_ingest_takes_over_from_a_process_that_was_killed(candor: Candor, jobs: Jobs, folder: Path) -> None:
    """On another machine, so that only the age of its row tells that it is dead."""
    row = {"collection": "papers", "holder": "dead", "host": "elsewhere", "process": 7, "process_started": 1.0}
    candor.ledger.list("papers")  # creates the schema
    with candor.engine.begin() as connection:
        alive_at = time.time() - STALE_S + TAKEN_OVER_AFTER_S
        connection.execute(insert(UNDER_WAY).values(row | {"since": alive_at, "alive_at": alive_at}))
    submitted = await submit_ingest(jobs, ingest_of(folder), LOCAL_CALLER)
    await wait_for(lambda: any("on elsewhere" in (state.waits_for or "") for state in jobs.states().values()))
    assert (await wait_until_ended(jobs, submitted.id)).status is JobStatus.DONE


@pytest.mark.usefixtures("waits_for_its_end")
async def test_a_cancelled_ingest_keeps_finished_files(candor: Candor, jobs: Jobs, many: Path) -> None:
    first = await submit_ingest(jobs, ingest_of(many), LOCAL_CALLER)
    await wait_for(lambda: any(document.chunks for document in candor.ledger.list("papers")))
    assert (await jobs.cancel(first.id)).status is JobStatus.CANCELLED
    done = sum(document.chunks > 0 for document in candor.ledger.list("papers"))
    assert 0 < done < FILES

    second = await wait_until_ended(jobs, (await submit_ingest(jobs, ingest_of(many), LOCAL_CALLER)).id)
    assert isinstance(second.result, dict)
    assert (second.result["unchanged"], second.result["indexed"]) == (done, FILES - done)


@pytest.mark.usefixtures("waits_for_its_end")
async def test_an_ingest_resumes_after_a_restart(candor: Candor, many: Path) -> None:
    for _ in range(2):
        pool, jobs = CollectionPool(candor.collections), Jobs(JobQueue(candor.settings))
        IngestJobs(candor.ingest, pool, jobs)
        async with running(jobs):
            if not await jobs.list(None, (), None, 1, lambda _: True):
                submitted = await submit_ingest(jobs, ingest_of(many), LOCAL_CALLER)
                await wait_for(lambda: any(document.chunks for document in candor.ledger.list("papers")))
            else:
                job = await wait_until_ended(jobs, submitted.id)
        pool.close()
    assert job.status is JobStatus.DONE
    assert isinstance(job.result, dict)
    assert job.result["unchanged"] + job.result["indexed"] == FILES
    assert job.result["unchanged"] > 0, "finished files are not ingested again"

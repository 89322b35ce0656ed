"""A process that cannot store its heartbeat stops its jobs, and joins the others again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sql
from sqlalchemy.exc import InternalError, OperationalError

from api.bootstrap import import_stores
from api.jobs.models import JobKind, JobStatus
from api.jobs.peers import _TAKEOVER_LOCK, Peers, Processes
from api.jobs.queue import JobQueue
from api.jobs.runner import Jobs
from api.settings import ServiceSettings, Settings
from api.storage.database import open_database
from support.jobs import HELD, SleepHandler, sleep_job, wait_until_ended
from support.waiting import LIMIT_S, wait_for
from vectorstore.settings import VectorStoreSettings

TAKEOVER_S = 3.0


@pytest.fixture
async def peers(postgres: str, tmp_path: Path) -> AsyncIterator[tuple[Peers, Jobs, SleepHandler]]:
    """This process among those that share the jobs of a database."""
    settings = Settings(
        home=tmp_path,
        database_url=postgres,
        store=VectorStoreSettings(url="http://127.0.0.1:9"),
        service=ServiceSettings(takeover_s=TAKEOVER_S),
    )
    engine, queue, handler = open_database(settings, import_stores), JobQueue(settings), SleepHandler()
    peers = Peers(settings, engine, queue, lambda: None)
    jobs = Jobs(queue, peers)
    jobs.register(JobKind.RESEARCH, handler)
    await peers.start(jobs)
    await jobs.start()
    yield peers, jobs, handler
    await jobs.close()
    await peers.leave()
    engine.dispose()


async def test_a_process_without_the_database_stops_its_jobs_and_resumes_them(
    peers: tuple[Peers, Jobs, SleepHandler], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, jobs, handler = peers
    await jobs.submit(sleep_job("first", HELD))
    await wait_for(lambda: handler.started == ["first"])

    def fail(*_: object) -> None:
        raise OperationalError("UPDATE", {}, Exception("the network is away"))

    with monkeypatch.context() as away:
        away.setattr(here._processes, "beat", fail)
        away.setattr(here._processes, "join", fail)
        await wait_for(lambda: not jobs.states())
        assert (here.stale, handler.done, handler.aborted) == (True, [], {})
        assert await jobs.submit(sleep_job("second")), "it still accepts jobs"
    handler.resume.set()
    for name in ("first", "second"):
        assert (await wait_until_ended(jobs, name)).status is JobStatus.DONE
    assert handler.started.count("first") == 2
    assert not here.stale


async def test_a_marked_job_is_cancelled_even_if_it_starts_later(peers: tuple[Peers, Jobs, SleepHandler]) -> None:
    here, jobs, handler = peers
    await here.call(Processes.mark_cancelled, "later")
    await jobs.submit(sleep_job("later", HELD))
    assert (await wait_until_ended(jobs, "later")).status is JobStatus.CANCELLED
    assert handler.started == []
    assert "later" in handler.aborted


async def test_a_job_that_is_handed_out_to_a_suspended_process_starts_once_it_resumes(
    peers: tuple[Peers, Jobs, SleepHandler],
) -> None:
    _, jobs, handler = peers
    await jobs.suspend()
    await jobs.submit(sleep_job("early"))
    await wait_until_handed_out(jobs, "early")
    assert handler.started == []
    jobs.resume()
    assert (await wait_until_ended(jobs, "early")).status is JobStatus.DONE
    assert handler.started == ["early"]


async def test_a_process_that_is_frozen_during_a_takeover_does_not_block_the_others(
    peers: tuple[Peers, Jobs, SleepHandler],
) -> None:
    here, _, _ = peers
    with here._own_engine.connect() as frozen:  # its transaction stays open
        frozen.execute(sql.select(sql.func.pg_advisory_xact_lock(_TAKEOVER_LOCK)))
        await here._call(here._processes.join)
        with pytest.raises(InternalError, match="idle-in-transaction timeout"):
            frozen.execute(sql.text("SELECT 1"))


async def wait_until_handed_out(jobs: Jobs, job_id: str) -> None:
    """Wait until the queue has given the job to this process."""
    async with asyncio.timeout(LIMIT_S):
        while not await jobs._queue.is_running_here(job_id):  # noqa: ASYNC110 (a row of DBOS)
            await asyncio.sleep(0.02)

"""Durable jobs: in turn, fairly, cancelled, and gone on with by the next process; on SQLite and on Postgres."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.auth.permissions import AT_THIS_MACHINE
from api.errors import JobNotFound, KeyReused, ServiceEnding, UsageError
from api.jobs.queue import only_service
from api.jobs.runner import Jobs, JobStatus, Priority, new_job_id
from api.settings import ServiceSettings, Settings
from support.jobs import Errand, ended, errand, eventually, jobs_of, working


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A fresh home, and two jobs at once."""
    return Settings(home=tmp_path / "home", service=ServiceSettings(concurrent_runs=2))


@pytest.fixture
def work() -> Errand:
    return Errand()


@pytest.fixture
async def jobs(settings: Settings, work: Errand) -> AsyncIterator[Jobs]:
    async with working(jobs_of(settings, work)) as jobs:
        yield jobs


async def test_a_job_is_taken_on_done_and_listed(jobs: Jobs) -> None:
    assert await jobs.submit(errand("to the post"))
    job = await ended(jobs, "to the post")
    assert (job.status, job.result, job.progress) == (JobStatus.DONE, {"seconds": "0.0"}, "on the way")
    assert (job.collection, job.key) == ("papers", "ann")
    assert job.created_at <= (job.ended_at or job.created_at)

    await jobs.submit(errand("nowhere", "impossible"))
    assert (await ended(jobs, "nowhere")).error == "There is no such place."

    async def listed(*among: JobStatus, limit: int = 10, readable: bool = True) -> list[str]:
        return [job.id for job in await jobs.list(None, among, "papers", limit, lambda _: readable)]

    assert await listed() == ["nowhere", "to the post"]
    assert await listed(limit=1) == ["nowhere"]
    assert await listed(JobStatus.DONE) == ["to the post"]
    assert await listed(JobStatus.FAILED) == ["nowhere"]
    assert await listed(JobStatus.DONE, JobStatus.FAILED) == ["nowhere", "to the post"]
    assert await listed(JobStatus.WAITING, JobStatus.RUNNING) == []
    assert await listed(readable=False) == []
    with pytest.raises(JobNotFound, match="There is no job 'to the moon'"):
        await jobs.job("to the moon")


async def test_a_defect_fails_its_job_and_is_logged(jobs: Jobs, work: Errand, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        await jobs.submit(errand("broken", "defect"))
        job = await ended(jobs, "broken")
    assert (job.status, job.error) == (JobStatus.FAILED, "by a hair")
    assert work.abandoned["broken"].startswith("failed: A defect in Candor: ZeroDivisionError")
    assert "Job broken was ended by a defect" in caplog.text


async def test_as_many_at_once_as_is_set(jobs: Jobs, work: Errand) -> None:
    for number in range(12):
        await jobs.submit(errand(f"{number}", 0.03))
    await eventually(lambda: len(work.done) == 12)
    assert work.peak == 2
    assert work.begun == [str(number) for number in range(12)], "first come, first served"


async def test_one_users_hundred_do_not_starve_anothers_one(jobs: Jobs, work: Errand) -> None:
    for number in range(100):
        await jobs.submit(errand(f"ann's {number}", 0.02))
    await jobs.submit(errand("ben's", 0.02, key="ben"))
    before = len(work.begun)
    await eventually(lambda: "ben's" in work.begun)
    assert work.begun.index("ben's") - before < 20, "every free place is drawn for among the keys that wait"


async def test_of_ones_own_the_more_urgent_comes_first(jobs: Jobs, work: Errand) -> None:
    for name in ("a", "b"):
        await jobs.submit(errand(name, 0.3))
    await eventually(lambda: len(work.begun) == 2)
    for priority in (Priority.LOW, Priority.NORMAL, Priority.HIGH):
        await jobs.submit(errand(priority.value, priority=priority))
    await eventually(lambda: len(work.done) == 5)
    assert work.begun[2:] == ["high", "normal", "low"]


async def test_a_question_begins_at_once_when_there_is_room(jobs: Jobs, work: Errand) -> None:
    await jobs.submit(errand("the first"))  # a new queue is not looked at in the first second of its life
    await ended(jobs, "the first")
    delays = []
    for number in range(10):
        asked = asyncio.get_running_loop().time()
        await jobs.submit(errand(str(number)))
        await eventually(lambda number=number: str(number) in work.begun)
        delays.append(asyncio.get_running_loop().time() - asked)
    print(f"begun after {sorted(delays)[5] * 1000:.0f} ms, the median of 10")
    assert sorted(delays)[8] < 0.5, "some 50 ms on a quiet machine; DBOS of itself looks once in a second"


async def test_jobs_are_cancelled_under_way_and_while_they_wait(jobs: Jobs, work: Errand) -> None:
    for name in ("first", "second", "third"):
        await jobs.submit(errand(name, 60))
    await eventually(lambda: len(work.begun) == 2)
    assert (await jobs.job("third")).status is JobStatus.WAITING
    assert (await jobs.job("first")).progress == "on the way"

    cancelled = [await jobs.cancel(name) for name in ("third", "first", "second", "second")]
    assert {job.status for job in cancelled} == {JobStatus.CANCELLED}
    assert work.begun == ["first", "second"]
    assert work.abandoned == {"third": "cancelled: The run was cancelled before its turn had come."}
    assert work.done == []


async def test_the_same_key_with_the_same_request_is_the_same_job(jobs: Jobs, work: Errand) -> None:
    mine = new_job_id("errand", AT_THIS_MACHINE, "letter-1")
    assert mine == new_job_id("errand", AT_THIS_MACHINE, "letter-1")
    other = AT_THIS_MACHINE.model_copy(update={"key": "ben"})
    assert mine != new_job_id("errand", other, "letter-1"), "keys of one caller are nothing to another"

    taken_on = await asyncio.gather(*(jobs.submit(errand(mine)) for _ in range(8)))
    assert sorted(taken_on) == [False] * 7 + [True]
    await ended(jobs, mine)
    assert await jobs.submit(errand(mine)) is False, "also when it has long ended"
    with pytest.raises(KeyReused):
        await jobs.submit(errand(mine, 3))
    assert work.done == [mine]


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_the_next_process_goes_on_with_what_is_unfinished(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres") if database == "postgres" else None
    settings = Settings(home=tmp_path / "home", database_url=url, service=ServiceSettings(concurrent_runs=2))
    first, second = Errand(), Errand()
    async with working(jobs_of(settings, first)) as jobs:
        for number in range(5):
            await jobs.submit(errand(f"{number}", 0 if number == 0 else 0.6))
        await eventually(lambda: len(first.begun) == 3)
        done = list(first.done)
    assert done == ["0"]
    with pytest.raises(ServiceEnding):
        await jobs.submit(errand("too late"))

    async with working(jobs_of(settings, second)) as jobs:
        await asyncio.gather(*(ended(jobs, str(number)) for number in range(5)))
        assert {job.status for job in await jobs.list(None, (), None, 10, lambda _: True)} == {JobStatus.DONE}
    assert sorted(second.done) == ["1", "2", "3", "4"], "the rest, those under way as well as those that waited"
    assert first.abandoned == second.abandoned == {}


def test_a_home_folder_has_one_service(tmp_path: Path) -> None:
    another = pytest.raises(UsageError, match="Another `candor serve` works on the home folder")
    with only_service(tmp_path), another, only_service(tmp_path):
        pass
    with only_service(tmp_path):
        pass

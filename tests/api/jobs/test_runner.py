"""Durable jobs: order, fairness, cancellation and resumption, on SQLite and Postgres."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import pickle
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from dbos import DBOS
from sqlalchemy.exc import OperationalError

from api.auth.keys import KeyRequest
from api.auth.permissions import LOCAL_CALLER, Right
from api.auth.users import NewUser, UserChange
from api.bootstrap import Candor
from api.errors import JobDamaged, JobNotFound, KeyReused, ServiceEnding
from api.jobs import queue
from api.jobs.models import Job, JobKind, JobSpec, JobStatus, Priority
from api.jobs.queue import JobQueue, check_jobs, require_sound
from api.jobs.runner import Jobs, new_job_id
from api.settings import ServiceSettings, Settings
from api.storage.live_processes import Process
from support.jobs import HELD, SleepHandler, make_jobs, running, sleep_job, wait_until_ended
from support.waiting import LIMIT_S, wait_for
from vectorstore.settings import VectorStoreSettings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A fresh home folder, and two jobs at once."""
    return Settings(home=tmp_path / "home", service=ServiceSettings(concurrent_runs=2))


@pytest.fixture
def handler() -> SleepHandler:
    return SleepHandler()


@pytest.fixture
async def jobs(settings: Settings, handler: SleepHandler) -> AsyncIterator[Jobs]:
    async with running(make_jobs(settings, handler)) as jobs:
        yield jobs


async def test_jobs_are_run_and_listed(jobs: Jobs, handler: SleepHandler) -> None:
    assert await jobs.submit(sleep_job("first"))
    job = await wait_until_ended(jobs, "first")
    assert (job.status, job.result, job.progress) == (JobStatus.DONE, {"seconds": "0.0"}, "halfway")
    assert (job.collection, job.key) == ("papers", "ann")
    assert job.created_at <= (job.ended_at or job.created_at)

    await jobs.submit(sleep_job("second", "failure"))
    assert (await wait_until_ended(jobs, "second")).error == "There is no such place."
    assert handler.aborted == {"second": "failed: There is no such place."}

    async def listed(*among: JobStatus, limit: int = 10, readable: bool = True) -> list[str]:
        return [job.id for job in await jobs.list(None, among, "papers", limit, lambda _: readable)]

    assert await listed() == ["second", "first"]
    assert await listed(limit=1) == ["second"]
    assert await listed(JobStatus.DONE) == ["first"]
    assert await listed(JobStatus.FAILED) == ["second"]
    assert await listed(JobStatus.DONE, JobStatus.FAILED) == ["second", "first"]
    assert await listed(JobStatus.WAITING, JobStatus.RUNNING) == []
    assert await listed(readable=False) == []
    with pytest.raises(JobNotFound, match="There is no job 'third'"):
        await jobs.get("third")


async def test_an_unexpected_error_fails_the_job_and_is_logged(
    jobs: Jobs, handler: SleepHandler, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        await jobs.submit(sleep_job("broken", "bug"))
        job = await wait_until_ended(jobs, "broken")
    assert (job.status, job.error) == (JobStatus.FAILED, "unexpected")
    assert handler.aborted["broken"].startswith("failed: Unexpected error in Candor: ZeroDivisionError")
    assert "Job broken failed with an unexpected error" in caplog.text


async def test_concurrency_is_limited(jobs: Jobs, handler: SleepHandler) -> None:
    for number in range(12):
        await jobs.submit(sleep_job(f"{number}", HELD if number < 2 else 0.03))
    await wait_for(lambda: len(handler.started) == 2)
    handler.resume.set()
    await wait_for(lambda: len(handler.done) == 12)
    assert handler.max_active == 2
    assert handler.started == [str(number) for number in range(12)], "first in, first out"


async def test_many_jobs_of_one_key_do_not_starve_another(jobs: Jobs, handler: SleepHandler) -> None:
    for number in range(100):
        await jobs.submit(sleep_job(f"ann's {number}", 0.02))
    await jobs.submit(sleep_job("ben's", 0.02, key="ben"))
    before = len(handler.started)
    await wait_for(lambda: "ben's" in handler.started)
    assert handler.started.index("ben's") - before < 20, "free slots are drawn at random among the waiting keys"


async def test_priority_orders_the_jobs_of_one_key(jobs: Jobs, handler: SleepHandler) -> None:
    for name in ("a", "b"):
        await jobs.submit(sleep_job(name, HELD))
    await wait_for(lambda: len(handler.started) == 2)
    for priority in (Priority.LOW, Priority.NORMAL, Priority.HIGH):
        await jobs.submit(sleep_job(priority.value, priority=priority))
    handler.resume.set()
    await wait_for(lambda: len(handler.done) == 5)
    assert handler.started[2:] == ["high", "normal", "low"]


@pytest.mark.usefixtures("jobs")
async def test_the_queue_of_questions_is_polled_often() -> None:
    """``python -m benchmarks.service`` measures how soon a run starts."""
    intervals = {queue.name: queue.polling_interval_sec for queue in await DBOS.list_queues_async()}
    [research] = [interval for name, interval in intervals.items() if JobKind.RESEARCH.value in name]
    assert research == 0.2, "DBOS polls every second by default"


async def test_running_and_waiting_jobs_can_be_cancelled(jobs: Jobs, handler: SleepHandler) -> None:
    for name in ("first", "second", "third"):
        await jobs.submit(sleep_job(name, 60))
    await wait_for(lambda: len(handler.started) == 2)
    assert (await jobs.get("third")).status is JobStatus.WAITING
    assert (await jobs.get("first")).progress == "halfway"

    cancelled = [await jobs.cancel(name) for name in ("third", "first", "second", "second")]
    assert {job.status for job in cancelled} == {JobStatus.CANCELLED}
    assert handler.started == ["first", "second"]
    assert handler.aborted == {"third": "cancelled: The run was cancelled before it started."}
    assert handler.done == []


async def test_queued_jobs_of_a_disabled_user_or_a_revoked_key_do_not_run(
    settings: Settings, handler: SleepHandler
) -> None:
    candor = Candor(settings)
    ada = candor.users.add(NewUser(name="Ada", rights={"papers": Right.READ}), "correct horse battery")
    key = candor.keys.add(KeyRequest(name="of Ada", user_id=ada.id, rights={"*": Right.READ})).key.id
    revoked = candor.keys.add(KeyRequest(name="of a program", rights={"*": Right.READ})).key.id
    async with running(make_jobs(settings, handler, withdrawn=candor.callers.withdrawn)) as jobs:
        for name in ("1", "2"):
            await jobs.submit(sleep_job(name, HELD, key))
        await wait_for(lambda: len(handler.started) == 2)
        await jobs.submit(sleep_job("by user", HELD, ada.id))
        await jobs.submit(sleep_job("by key", HELD, key))
        await jobs.submit(sleep_job("by revoked", HELD, revoked))
        candor.users.change(ada.id, UserChange(disabled=True))
        candor.keys.revoke(revoked)
        handler.resume.set()
        for name in ("by user", "by key", "by revoked"):
            assert "was revoked, or its user disabled, before it ran" in str((await wait_until_ended(jobs, name)).error)
    assert set(handler.started) == {"1", "2"}
    assert set(handler.aborted) == {"by user", "by key", "by revoked"}


async def test_an_idempotency_key_identifies_the_job(jobs: Jobs, handler: SleepHandler) -> None:
    mine = new_job_id("job", LOCAL_CALLER, "letter-1")
    assert mine == new_job_id("job", LOCAL_CALLER, "letter-1")
    other = LOCAL_CALLER.model_copy(update={"key": "ben"})
    assert mine != new_job_id("job", other, "letter-1"), "each caller has separate idempotency keys"

    submitted = await asyncio.gather(*(jobs.submit(sleep_job(mine)) for _ in range(8)))
    assert sorted(submitted) == [False] * 7 + [True]
    await wait_until_ended(jobs, mine)
    assert await jobs.submit(sleep_job(mine)) is False, "also after the job has ended"
    with pytest.raises(KeyReused):
        await jobs.submit(sleep_job(mine, 3))
    assert handler.done == [mine]


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_the_next_process_resumes_unfinished_jobs(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres") if database == "postgres" else None
    settings = Settings(home=tmp_path / "home", database_url=url, service=ServiceSettings(concurrent_runs=2))
    first, second = SleepHandler(), SleepHandler()
    async with running(make_jobs(settings, first)) as jobs:
        for number in range(5):
            await jobs.submit(sleep_job(f"{number}", 0 if number == 0 else HELD))
        await wait_for(lambda: len(first.started) == 3)
        done = list(first.done)
    assert done == ["0"]
    with pytest.raises(ServiceEnding):
        await jobs.submit(sleep_job("too late"))

    second.resume.set()
    async with running(make_jobs(settings, second)) as jobs:
        await asyncio.gather(*(wait_until_ended(jobs, str(number)) for number in range(5)))
        assert {job.status for job in await jobs.list(None, (), None, 10, lambda _: True)} == {JobStatus.DONE}
    assert sorted(second.done) == ["1", "2", "3", "4"], "the active and the waiting jobs"
    assert first.aborted == second.aborted == {}


async def test_a_service_without_a_worker_resumes_the_jobs_of_its_last_worker(settings: Settings) -> None:
    first, second = SleepHandler(), SleepHandler()
    worker = Jobs(JobQueue(settings, [JobKind.RESEARCH], JobQueue(settings).new_worker_id()))
    worker.register(JobKind.RESEARCH, first)
    async with running(worker):
        await worker.submit(sleep_job("first", HELD))
        await wait_for(lambda: first.started == ["first"])
    second.resume.set()
    async with running(make_jobs(settings, second)) as jobs:
        assert (await wait_until_ended(jobs, "first")).status is JobStatus.DONE


def stored(settings: Settings, job_id: str) -> tuple[str, str, str]:
    """Return the label, the input and the output of a job, as stored."""
    with sqlite3.connect(settings.home / "jobs.db") as database:
        [row] = database.execute(
            "SELECT serialization, i.inputs, o.output FROM workflow_status s "
            "LEFT JOIN workflow_input i USING (workflow_uuid) LEFT JOIN workflow_output o USING (workflow_uuid) "
            "WHERE workflow_uuid = ?",
            (job_id,),
        ).fetchall()
    return tuple(row)


def pickled(value: object) -> str:
    """Return a value as older versions stored it."""
    return base64.b64encode(pickle.dumps(value)).decode()


def overwrite(settings: Settings, job_id: str, inputs: object, output: object, status: str) -> None:
    """Replace the values of a job by pickles."""
    with sqlite3.connect(settings.home / "jobs.db") as database:
        for table in ("workflow_input", "workflow_output"):  # older versions stored the values with the status
            database.execute(f"DELETE FROM {table} WHERE workflow_uuid = ?", (job_id,))
        database.execute(
            "UPDATE workflow_status SET serialization = 'py_pickle', inputs = ?, output = ?, status = ? "
            "WHERE workflow_uuid = ?",
            (pickled(inputs), output and pickled(output), status, job_id),
        )


def damage(settings: Settings, statement: str) -> None:
    """Change the database of the jobs."""
    with sqlite3.connect(settings.home / "jobs.db", timeout=LIMIT_S) as database:
        database.execute(statement)


FULL_DISK = """CREATE TRIGGER full_disk BEFORE UPDATE ON workflow_status WHEN NEW.status IN ('SUCCESS', 'ERROR')
BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"""


@pytest.mark.parametrize(("content", "ends"), [("0.0", JobStatus.DONE), ("bug", JobStatus.FAILED)])
async def test_an_outcome_that_was_not_stored_is_stored_later(
    settings: Settings,
    jobs: Jobs,
    handler: SleepHandler,
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    ends: JobStatus,
) -> None:
    monkeypatch.setattr("api.jobs.runner._STORE_AGAIN_S", 0.01)
    resumed, resume = list[str](), jobs._queue.resume

    async def count(job_id: str) -> bool:
        resumed.append(job_id)
        return await resume(job_id)

    monkeypatch.setattr(jobs._queue, "resume", count)
    damage(settings, FULL_DISK)
    await jobs.submit(sleep_job("first", content))
    await wait_for(lambda: len(resumed) > 1)
    damage(settings, "DROP TRIGGER full_disk")
    assert (await wait_until_ended(jobs, "first")).status is ends
    assert len(handler.started) == (content == "0.0"), "it does not run again"
    await wait_for(lambda: not jobs._unstored)  # shortly after DBOS has stored it


async def test_the_end_of_a_job_is_cleaned_up_when_the_database_is_writable_again(
    jobs: Jobs, handler: SleepHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.jobs.runner._STORE_AGAIN_S", 0.01)
    failures, on_abort = [OperationalError("UPDATE", {}, Exception("disk is full"))] * 3, handler.on_abort

    async def fail_first(spec: JobSpec, status: JobStatus, reason: str) -> None:
        if failures:
            raise failures.pop()
        await on_abort(spec, status, reason)

    monkeypatch.setattr(handler, "on_abort", fail_first)
    await jobs.submit(sleep_job("first", "bug"))
    assert (await wait_until_ended(jobs, "first")).status is JobStatus.FAILED
    await wait_for(lambda: "disk is full" in handler.aborted.get("first", ""))


async def test_jobs_are_stored_as_json(settings: Settings, jobs: Jobs) -> None:
    await jobs.submit(sleep_job("first"))
    assert (await wait_until_ended(jobs, "first")).result == {"seconds": "0.0"}
    label, inputs, output = stored(settings, "first")
    assert label == "portable_json"
    assert '"collection":"papers"' in json.loads(inputs)["positionalArgs"][0]
    assert json.loads(json.loads(output))["result"] == {"seconds": "0.0"}


@pytest.mark.parametrize(
    ("change", "collection", "ended"),
    [
        ("UPDATE workflow_output SET output = '{noise'", "papers", JobStatus.FAILED),
        ("UPDATE workflow_output SET output = '\"{}\"'", "papers", JobStatus.FAILED),
        ("UPDATE workflow_status SET attributes = '{}'", "", JobStatus.DONE),
        ("UPDATE workflow_status SET attributes = '{noise'", "", JobStatus.DONE),
        ("UPDATE workflow_status SET attributes = '[5]'", "", JobStatus.DONE),
        ("UPDATE workflow_status SET attributes = json_set(attributes, '$.collection', 5)", "", JobStatus.DONE),
        ("UPDATE workflow_status SET attributes = json_set(attributes, '$.at', 'noise')", "", JobStatus.DONE),
        ("UPDATE workflow_status SET attributes = json_set(attributes, '$.deaths', 'noise')", "", JobStatus.DONE),
    ],
)
async def test_a_damaged_job_is_listed_beside_the_others(
    settings: Settings, jobs: Jobs, change: str, collection: str, ended: JobStatus
) -> None:
    for name in ("damaged", "sound"):
        await jobs.submit(sleep_job(name))
        await wait_until_ended(jobs, name)
    damage(settings, f"{change} WHERE workflow_uuid = 'damaged'")
    require_sound(settings)
    sound, damaged = sorted(await jobs.list(None, (), None, 10, lambda _: True), key=lambda job: job.id, reverse=True)
    assert (sound.id, sound.status) == ("sound", JobStatus.DONE)
    assert (damaged.id, damaged.kind, damaged.collection) == ("damaged", JobKind.RESEARCH, collection)
    assert damaged.status is ended
    if ended is JobStatus.FAILED:
        assert damaged.error == "The record of this job is damaged. Send its request again."
    [check] = check_jobs(settings)
    assert (check.ok, check.detail.split(".")[0]) == (True, "damaged records: damaged")
    assert await jobs._queue.get("sound")
    if not collection:
        with pytest.raises(JobDamaged, match="The record of job 'damaged' is damaged"):
            await jobs.get("damaged")
    await jobs._queue.count_deaths(jobs._queue.executor)


def test_the_id_of_a_process_says_its_role(tmp_path: Path) -> None:
    store = VectorStoreSettings(url="http://localhost:6333")
    shared = Settings(home=tmp_path, database_url="postgresql://localhost/candor", store=store)
    service, worker = JobQueue(shared, serves=True), JobQueue(shared)
    now = datetime.now(UTC)
    processes = [
        Process(id=each, host="a", process=1, queues=(), started_at=now, seen_at=now)
        for each in (service.executor, service.new_worker_id(), worker.executor)
    ]
    assert [each.role for each in processes] == ["service", "worker of a service", "worker"]


async def test_a_locked_list_is_not_damaged(settings: Settings, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    await jobs.submit(sleep_job("ended"))
    await wait_until_ended(jobs, "ended")
    url = queue._database_url(settings)
    monkeypatch.setattr(queue, "_database_url", lambda _: f"{url}?timeout=0.1")
    with closing(sqlite3.connect(settings.home / queue.FILE)) as other:
        other.execute("BEGIN IMMEDIATE")
        [check] = check_jobs(settings)
    assert "is locked by another process" in check.remedy
    assert "damaged" not in check.remedy


async def test_jobs_of_an_older_version_are_read_and_resumed(settings: Settings) -> None:
    handler = SleepHandler()
    async with running(make_jobs(settings, handler)) as jobs:
        await jobs.submit(sleep_job("ended"))
        ended = await wait_until_ended(jobs, "ended")
        await jobs.submit(sleep_job("waiting", HELD))
        await wait_for(lambda: "waiting" in handler.started)
    outcome = json.loads(stored(settings, "ended")[2])
    overwrite(settings, "ended", {"args": (sleep_job("ended").model_dump_json(),), "kwargs": {}}, outcome, "SUCCESS")
    overwrite(settings, "waiting", {"args": (sleep_job("waiting").model_dump_json(),), "kwargs": {}}, None, "PENDING")
    async with running(make_jobs(settings, SleepHandler())) as jobs:
        assert await jobs.get("ended") == ended
        assert (await wait_until_ended(jobs, "waiting")).result == {"seconds": "0.0"}


class Hostile:
    """An object whose pickle runs a command when it is loaded."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.file}",)


async def test_a_pickle_in_the_database_runs_no_code(settings: Settings, tmp_path: Path) -> None:
    handler = SleepHandler()
    async with running(make_jobs(settings, handler)) as jobs:
        await jobs.submit(sleep_job("first", HELD))
        await wait_for(lambda: "first" in handler.started)
    overwrite(settings, "first", {"args": (Hostile(tmp_path / "ran"),), "kwargs": {}}, None, "PENDING")
    async with running(make_jobs(settings, SleepHandler())) as jobs:

        async def failed() -> list[Job]:
            return await jobs.list(None, [JobStatus.FAILED], None, 10, lambda _: True)

        async with asyncio.timeout(LIMIT_S):
            while not (found := await failed()):  # noqa: ASYNC110 (it reads a database)
                await asyncio.sleep(0.1)
        assert "Candor does not load" in str(found[0].error)
    assert not (tmp_path / "ran").exists()

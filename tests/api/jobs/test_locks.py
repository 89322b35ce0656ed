"""Locks of the home folder and the database, and several services on one Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from api.errors import UsageError
from api.jobs.locks import lock_database, lock_home, research_lock, start_lock
from api.jobs.models import JobStatus
from api.settings import ServiceSettings, Settings
from support.jobs import SleepHandler, make_jobs, running, sleep_job, wait_until_ended
from support.waiting import LIMIT_S, until, wait_for

EMBEDDED, QDRANT_SERVER = None, "http://127.0.0.1:6333"
REFUSED = "Another `candor serve` with another home folder uses this database"

Lock = Callable[[str | None], AbstractContextManager[None]]


@pytest.fixture
def lock(postgres: str) -> Iterator[Lock]:
    """Take the lock with new connections to the database, as a process does."""
    engines: list[sql.Engine] = []

    def take(store_url: str | None) -> AbstractContextManager[None]:
        engines.append(sql.create_engine(postgres))
        return lock_database(engines[-1], store_url)

    yield take
    for engine in engines:
        engine.dispose()


def test_a_home_folder_has_one_service(tmp_path: Path) -> None:
    refused = pytest.raises(UsageError, match="Another `candor serve` or `candor worker` uses the home folder")
    with lock_home(tmp_path), refused, lock_home(tmp_path):
        pass
    with lock_home(tmp_path):
        pass


def test_a_process_waits_for_the_one_that_works_on_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("api.jobs.locks._WARN_EVERY_S", 0.01)
    with ThreadPoolExecutor(1) as pool:
        with research_lock(tmp_path):
            waiting = pool.submit(research_lock(tmp_path).__enter__)
            until(lambda: caplog.text.count("Another process works on the runs") > 1)
            assert not waiting.done()
        waiting.result(LIMIT_S)


async def test_one_process_at_a_time_creates_the_tables_of_jobs(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.jobs.locks._RETRY_S", 0.01)
    tries = set[object]()
    tried = sql.text("SELECT query_start FROM pg_stat_activity WHERE query LIKE 'SELECT pg_try_advisory_lock(%'")

    async def create() -> None:
        async with start_lock(postgres):
            pass

    async with start_lock(postgres):
        second = asyncio.create_task(create())
        with sql.create_engine(postgres, isolation_level="AUTOCOMMIT").connect() as connection:
            await wait_for(lambda: second.done() or tries.update(connection.scalars(tried)) or len(tries) > 3)
        assert not second.done()
    await asyncio.wait_for(second, LIMIT_S)


@pytest.mark.parametrize(
    ("first", "second"), [(EMBEDDED, EMBEDDED), (EMBEDDED, QDRANT_SERVER), (QDRANT_SERVER, EMBEDDED)]
)
def test_embedded_collections_need_their_own_database(lock: Lock, first: str | None, second: str | None) -> None:
    with lock(first), pytest.raises(UsageError, match=REFUSED), lock(second):
        pass
    with lock(second):
        pass


def test_services_with_a_qdrant_server_share_a_database(lock: Lock) -> None:
    with lock(QDRANT_SERVER), lock(QDRANT_SERVER), lock(QDRANT_SERVER):
        pass


def test_a_killed_service_releases_the_lock(lock: Lock, postgres: str) -> None:
    with lock(EMBEDDED):
        with sql.create_engine(postgres).connect() as connection:
            terminate = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            assert connection.scalar(sql.text(terminate)), "closes the connection, as a kill does"
        with lock(EMBEDDED):
            pass


def test_serve_reports_the_lock_and_exits(
    lock: Lock, postgres: str, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_DATABASE_URL", postgres)
    with lock(QDRANT_SERVER):
        refused = run("serve", "--port", "0")
    assert (refused.code, REFUSED in refused.err, "CANDOR_STORE__URL" in refused.err) == (2, True, True)


def test_sqlite_needs_no_database_lock(tmp_path: Path) -> None:
    engine = sql.create_engine(f"sqlite:///{tmp_path / 'candor.db'}")
    with lock_database(engine, EMBEDDED), lock_database(engine, EMBEDDED):
        pass


async def test_a_service_runs_only_its_own_jobs(postgres: str, tmp_path: Path) -> None:
    one, other = (
        Settings(home=tmp_path / name, database_url=postgres, service=ServiceSettings(concurrent_runs=1))
        for name in "ab"
    )
    async with running(make_jobs(one, SleepHandler())) as jobs:
        await jobs.submit(sleep_job("active", 60))
        await jobs.submit(sleep_job("waiting", 0))
        while (await jobs.get("active")).status is not JobStatus.RUNNING:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    neighbour = SleepHandler()
    async with running(make_jobs(other, neighbour)) as jobs:
        for number in range(3):
            await jobs.submit(sleep_job(f"other {number}"))
            assert (await wait_until_ended(jobs, f"other {number}")).status is JobStatus.DONE
        assert (await jobs.get("waiting")).status is JobStatus.WAITING, "visible here, but not run"
    assert neighbour.done == [f"other {number}" for number in range(3)]

    restarted = SleepHandler()
    async with running(make_jobs(one, restarted)) as jobs:
        await jobs.cancel("active")
        assert (await wait_until_ended(jobs, "waiting")).status is JobStatus.DONE
    assert restarted.done == ["waiting"]

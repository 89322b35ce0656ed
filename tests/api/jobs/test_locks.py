"""Several services on one Postgres: who may, and whose jobs are whose."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from api.errors import UsageError
from api.jobs.locks import serving
from api.jobs.runner import JobStatus
from api.settings import ServiceSettings, Settings
from support.jobs import Errand, ended, errand, jobs_of, working

EMBEDDED, ON_A_SERVER = None, "http://127.0.0.1:6333"
REFUSED = "Another `candor serve`, with another home folder, works on this database"


@pytest.fixture
def service(postgres: str) -> Iterator[Callable[[str | None], AbstractContextManager[None]]]:
    """Each with its own connections to the database, as processes have them."""
    engines: list[sql.Engine] = []

    def start(store_url: str | None) -> AbstractContextManager[None]:
        engines.append(sql.create_engine(postgres))
        return serving(engines[-1], store_url)

    yield start
    for engine in engines:
        engine.dispose()


Start = Callable[[str | None], AbstractContextManager[None]]


@pytest.mark.parametrize(("first", "second"), [(EMBEDDED, EMBEDDED), (EMBEDDED, ON_A_SERVER), (ON_A_SERVER, EMBEDDED)])
def test_who_keeps_collections_in_the_home_folder_is_alone_on_the_database(
    service: Start, first: str | None, second: str | None
) -> None:
    with service(first), pytest.raises(UsageError, match=REFUSED), service(second):
        pass
    with service(second):
        pass


def test_with_their_collections_on_a_server_there_may_be_several(service: Start) -> None:
    with service(ON_A_SERVER), service(ON_A_SERVER), service(ON_A_SERVER):
        pass


def test_a_service_that_was_killed_is_in_nobodys_way(service: Start, postgres: str) -> None:
    with service(EMBEDDED):
        with sql.create_engine(postgres).connect() as connection:
            ours = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"
            assert connection.scalar(sql.text(ours)), "its connection is gone, as when its process is"
        with service(EMBEDDED):
            pass


def test_serve_says_so_and_ends(
    service: Start, postgres: str, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_DATABASE_URL", postgres)
    with service(ON_A_SERVER):
        refused = run("serve", "--port", "0")
    assert (refused.code, REFUSED in refused.err, "CANDOR_STORE__URL" in refused.err) == (2, True, True)


def test_on_sqlite_each_has_its_own_database(tmp_path: Path) -> None:
    engine = sql.create_engine(f"sqlite:///{tmp_path / 'candor.db'}")
    with serving(engine, EMBEDDED), serving(engine, EMBEDDED):
        pass


async def test_a_service_does_its_own_jobs_and_leaves_those_of_others_to_them(postgres: str, tmp_path: Path) -> None:
    one, other = (
        Settings(home=tmp_path / name, database_url=postgres, service=ServiceSettings(concurrent_runs=1))
        for name in "ab"
    )
    async with working(jobs_of(one, Errand())) as jobs:
        await jobs.submit(errand("under way", 60))
        await jobs.submit(errand("waits", 0))
        while (await jobs.job("under way")).status is not JobStatus.RUNNING:  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    neighbour = Errand()
    async with working(jobs_of(other, neighbour)) as jobs:
        for number in range(3):
            await jobs.submit(errand(f"of its own {number}"))
            assert (await ended(jobs, f"of its own {number}")).status is JobStatus.DONE
        assert (await jobs.job("waits")).status is JobStatus.WAITING, "it is known here, and left alone"
    assert neighbour.done == [f"of its own {number}" for number in range(3)]

    again = Errand()
    async with working(jobs_of(one, again)) as jobs:
        await jobs.cancel("under way")
        assert (await ended(jobs, "waits")).status is JobStatus.DONE
    assert again.done == ["waits"]

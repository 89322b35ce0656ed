"""``dbos_internals.py`` does what the installed DBOS does. A test that fails here says what a new version changed."""

from __future__ import annotations

import base64
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sql
from dbos import DBOSClient, WorkflowStatusString, _serialization

from api.jobs import dbos_internals, queue
from api.jobs.models import JobStatus
from api.settings import ServiceSettings, Settings
from support.jobs import HELD, SleepHandler, make_jobs, running, sleep_job
from support.waiting import wait_for

OF_ITS_OWN = {
    *("workflow_uuid", "created_at", "updated_at", "dequeued_at", "priority"),
    *("creator_xid", "attributes", "inputs"),
}
"""Columns in which two jobs differ."""


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    url = request.getfixturevalue("postgres") if request.param == "postgres" else None
    return Settings(home=tmp_path / "home", database_url=url, service=ServiceSettings(concurrent_runs=2))


@pytest.fixture
async def executor(settings: Settings) -> str:
    """Leave two running jobs and a waiting one behind, and return the id of the process that ended."""
    handler = SleepHandler()
    jobs = make_jobs(settings, handler)
    engine = sql.create_engine(queue._database_url(settings))
    if engine.dialect.name == "postgresql":  # the tests of the module share it
        with engine.begin() as connection:
            connection.execute(sql.text("DROP SCHEMA IF EXISTS dbos CASCADE"))
    engine.dispose()
    async with running(jobs):
        for name in ("ours", "theirs", "waiting"):
            await jobs.submit(sleep_job(name, HELD))
        await wait_for(lambda: len(handler.started) == 2)
    return jobs._queue.executor


@pytest.fixture
def dbos(settings: Settings, executor: str) -> Iterator[DBOSClient]:
    client = DBOSClient(system_database_url=queue._database_url(settings), serializer=dbos_internals.json_serializer())
    yield client
    client.destroy()


def status_of(connection: sql.Connection, job_id: str) -> dict[str, object]:
    statement = sql.text(f"SELECT * FROM {dbos_internals._table(connection)} WHERE workflow_uuid = :id")
    row = connection.execute(statement, {"id": job_id}).mappings().one()
    return {name: value for name, value in row.items() if name not in OF_ITS_OWN}


def test_a_job_is_handed_out_as_dbos_does_it(settings: Settings, executor: str, dbos: DBOSClient) -> None:
    with queue._connect(settings) as connection:
        assert status_of(connection, "ours") == status_of(connection, "theirs")
        name = str(status_of(connection, "ours")["queue_name"])
    assert dbos._sys_db.reenqueue_for_recovery("theirs", [executor], name)
    with queue._connect(settings) as connection:
        mine = "workflow_uuid = 'ours' AND executor_id = :executor"
        assert dbos_internals.hand_out(connection, mine, executor="another") == 0
        assert dbos_internals.hand_out(connection, mine, executor=executor) == 1
        assert dbos_internals.hand_out(connection, mine, executor=executor) == 0, "it is not running any more"
        assert status_of(connection, "ours") == status_of(connection, "theirs")


def test_a_job_with_damaged_attributes_is_found(settings: Settings, executor: str) -> None:
    assert list(queue.check_jobs(settings)) == []
    with queue._connect(settings) as connection:
        table = dbos_internals._table(connection)
        connection.execute(sql.text(f"UPDATE {table} SET attributes = '[5]' WHERE workflow_uuid = 'theirs'"))
    [check] = queue.check_jobs(settings)
    assert check.detail.startswith("damaged records: theirs.")


def test_all_states_of_dbos_are_known(settings: Settings, dbos: DBOSClient) -> None:
    assert {status.value for status in WorkflowStatusString} == queue._STATUSES.keys()
    unfinished = [name for name, status in queue._STATUSES.items() if not status.ended]
    assert JobStatus.RUNNING in queue._STATUSES.values()
    with queue._connect(settings) as connection:
        assert dbos_internals.count_unfinished(connection) == len(dbos.list_workflows(status=unfinished)) == 3


def test_dbos_reads_pickles_with_the_reader_that_is_replaced() -> None:
    serializer = dbos_internals.json_serializer()
    plain, call = (base64.b64encode(pickle.dumps(value)).decode() for value in ("text", os.system))
    assert _serialization.deserialize_value(plain, "py_pickle", serializer) == "text"
    with pytest.raises(pickle.UnpicklingError, match="no version of Candor writes"):
        _serialization.deserialize_value(call, "py_pickle", serializer)


def test_no_job_is_handed_out_while_another_process_makes_the_tables(tmp_path: Path) -> None:
    """DBOS makes its tables in steps, so a worker that starts at the same time sees the first columns only."""
    engine = sql.create_engine(f"sqlite:///{tmp_path / 'jobs.db'}")
    with engine.begin() as connection:
        connection.execute(sql.text("CREATE TABLE workflow_status (workflow_uuid TEXT, status TEXT)"))
        assert dbos_internals.hand_out(connection, "executor_id = :executor", executor="e") == 0
    engine.dispose()

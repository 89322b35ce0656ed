"""A process that the others consider dead cannot write to the database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sql

from api.bootstrap import import_stores
from api.settings import Settings
from api.storage.database import open_database
from api.storage.fencing import Fenced, end_connections_of_dead, fence
from api.storage.live_processes import NOW, PROCESSES, live_processes
from multi_agent.storage.trace import Trace
from multi_agent.values.request import Request

ROW = {
    "id": "me", "host": "here", "process": 1, "process_started": 1.0, "queues": ["research"], "takeover_s": 60.0,
    "started_at": datetime.now(UTC),
}  # fmt: skip


@pytest.fixture
def settings(postgres: str, tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, database_url=postgres)


@pytest.fixture
def others(settings: Settings) -> Iterator[sql.Engine]:
    """The connections of the other processes. This one is alive."""
    engine = open_database(settings, import_stores)
    join(engine)
    yield engine
    declare_dead(engine)
    engine.dispose()


def join(others: sql.Engine) -> None:
    with others.begin() as connection:
        connection.execute(PROCESSES.insert().values(**ROW, seen_at=NOW))


def declare_dead(others: sql.Engine) -> None:
    with others.begin() as connection:
        connection.execute(sql.delete(PROCESSES))
    with others.begin() as connection:
        assert end_connections_of_dead(connection)


def test_a_dead_process_can_neither_use_its_connections_nor_open_new_ones(
    settings: Settings, others: sql.Engine
) -> None:
    mine = open_database(settings, import_stores)
    end = fence(mine, "me")
    trace = Trace(mine)
    trace.create("before", Request(question="Why?"), "papers", "model")
    with mine.connect() as under_way:
        under_way.execute(sql.text("SELECT 1"))
        declare_dead(others)
        with pytest.raises(sql.exc.SQLAlchemyError):
            under_way.execute(sql.text("SELECT 1"))
    for _ in range(2):
        with pytest.raises(Fenced, match="other processes took over its jobs"):
            trace.create("after", Request(question="Why?"), "papers", "model")
    assert {run.run_id for run in Trace(others).runs()} == {"before"}

    join(others)
    trace.create("joined", Request(question="Why?"), "papers", "model")
    end()
    declare_dead(others)
    trace.create("left", Request(question="Why?"), "papers", "model")
    mine.dispose()
    assert {run.run_id for run in Trace(others).runs()} == {"before", "joined", "left"}


def test_live_processes_keep_their_connections(settings: Settings, others: sql.Engine) -> None:
    mine = open_database(settings, import_stores)
    fence(mine, "me")
    with mine.connect() as connection, others.begin() as other:
        assert end_connections_of_dead(other)
        assert connection.scalar(sql.text("SELECT 1")) == 1
    mine.dispose()


def test_a_silent_process_is_not_listed(others: sql.Engine) -> None:
    assert [(each.id, each.queues) for each in live_processes(others)] == [("me", ("research",))]
    with others.begin() as connection:
        connection.execute(sql.update(PROCESSES).values(seen_at=NOW - sql.text("interval '61 seconds'")))
    assert live_processes(others) == []


def test_a_pooled_connection_that_the_server_ended_is_replaced(settings: Settings, others: sql.Engine) -> None:
    mine = open_database(settings, import_stores)
    with mine.connect() as connection:
        pid = connection.scalar(sql.text("SELECT pg_backend_pid()"))
    with others.connect() as connection:
        assert connection.scalar(sql.text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})
    with mine.connect() as connection:
        assert connection.scalar(sql.text("SELECT 1")) == 1
    mine.dispose()

"""Databases of every released schema are upgraded without losing a row.

``states/DIALECT/*.sql`` are dumps of databases as earlier versions created them, one per change of a table, for SQLite
and Postgres.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from api.bootstrap import Candor, import_stores
from api.errors import HomeError
from api.settings import Settings
from api.storage.database import open_database
from api.storage.home import DATABASE
from api.storage.upgrade import newest_version, upgrade_schema
from base.database import METADATA
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.model import Message, Usage
from multi_agent.storage.run_filter import RunFilter
from multi_agent.storage.trace import SqlJournal, Trace
from multi_agent.values.events import Event, ModelCalled, RunFinished
from multi_agent.values.request import Request
from support.answers import ANSWER
from support.database import import_all_modules

STATES = Path(__file__).parent / "states"
NAMES = sorted(path.stem for path in (STATES / "sqlite").glob("*.sql"))
OBSOLETE = {"service_runs"}
COMPRESSED = {"runs": ("answer",), "events": ("event",), "journal": ("entry",), "tool_calls": ("entry",)}
FILLED = {"database_identity"}  # by a migration
PROCESSES = 6

FINISHED = RunFinished(status="answered", reason="", usage=Usage())

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings with an empty database."""
    if request.param == "sqlite":
        yield Settings(home=tmp_path)
        return
    server = sql.make_url(request.getfixturevalue("postgres"))
    name = re.sub(r"\W", "_", tmp_path.name)
    admin = sql.create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
    yield Settings(home=tmp_path, database_url=server.set(database=name).render_as_string(hide_password=False))
    with admin.connect() as connection:
        connection.exec_driver_sql(f'DROP DATABASE "{name}" WITH (FORCE)')
    admin.dispose()


@pytest.mark.parametrize("state", NAMES)
def test_every_released_database_is_upgraded(state: str, settings: Settings) -> None:
    before = load(state, settings)
    engine = open_database(settings, import_stores)
    after = rows_of(engine)
    assert {name: rows for name, rows in after.items() if rows}.keys() == (before.keys() - OBSOLETE) | FILLED
    for table in before.keys() - OBSOLETE:
        kept = [{name: unpacked(table, name, row[name]) for name in before[table][0]} for row in after[table]]
        assert kept == before[table], table
    assert differences(engine) == []
    engine.dispose()


@pytest.mark.parametrize("state", NAMES)
def test_upgraded_columns_equal_those_of_a_new_database(state: str, tmp_path: Path) -> None:
    old, new = Settings(home=tmp_path), Settings(home=tmp_path / "new")
    load(state, old)
    assert columns_of(open_database(old, import_stores)) == columns_of(open_database(new, import_stores))


def test_a_database_of_a_version_between_is_completed(settings: Settings) -> None:
    engine = open_database(settings, import_stores)
    with engine.begin() as connection:
        for statement in (
            "UPDATE alembic_version SET version_num = '0015'",
            "DROP TABLE document_table_cells",
            "DROP TABLE document_tables",
            "ALTER TABLE runs DROP COLUMN basis",
            "DROP INDEX ix_runs_key",
        ):
            connection.exec_driver_sql(statement)
    before = rows_of(engine)
    engine.dispose()
    engine = open_database(settings, import_stores)
    assert differences(engine) == []
    assert rows_of(engine) == before | {"document_tables": [], "document_table_cells": []}
    engine.dispose()


def test_a_new_database_has_the_schema_of_the_stores(settings: Settings) -> None:
    engine = open_database(settings, import_stores)
    assert differences(engine) == []
    engine.dispose()


def test_old_runs_without_a_key_belong_to_the_local_user(settings: Settings) -> None:
    load(NAMES[0], settings)
    engine = open_database(settings, import_stores)
    trace = Trace(engine)
    assert {run.key for run in trace.runs()} == {""}
    trace.create("run_new", Request(question="Why?"), "papers", "a model", "a key")
    assert trace.run("run_new").key == "a key"
    engine.dispose()


@pytest.mark.parametrize("state", [NAMES[0], NAMES[-1]])
def test_the_stores_read_an_upgraded_database(state: str, settings: Settings) -> None:
    load(state, settings)
    candor = Candor(settings)
    assert [document.name for document in candor.ledger.list("papers")] == ["odd.pdf", "pump.md"]
    assert {run.run_id for run in candor.trace.runs()} == {"run_0000000000a1", "run_0000000000a2"}
    assert candor.trace.answer("run_0000000000a1").reasoning == "The model is down."
    candor.engine.dispose()


def test_old_answers_are_found_by_the_documents_that_they_cite(settings: Settings) -> None:
    load(NAMES[-1], settings)
    run_id, before = "run_0000000000a1", make_raw_engine(settings)
    old = ANSWER.model_copy(update={"run_id": run_id})
    with before.begin() as connection:
        update = sql.text("UPDATE runs SET answer = :answer WHERE run_id = :run_id")
        connection.execute(update, {"answer": old.model_dump_json(), "run_id": run_id})
    before.dispose()
    engine = open_database(settings, import_stores)
    trace = Trace(engine)
    assert [run.run_id for run in trace.runs(wanted=RunFilter(cites="d"))] == [run_id]
    upgraded = trace.citations("d", [run_id])
    assert [(each.number, each.quote) for each in upgraded[run_id]] == [(1, "works down to\n-25 °C"), (None, "one")]
    trace.finish(old, Event(run_id=run_id, number=9, at=datetime.now(UTC), body=FINISHED))
    assert trace.citations("d", [run_id]) == upgraded
    engine.dispose()


def test_payloads_are_compressed_and_read_as_before(settings: Settings) -> None:
    load(NAMES[-1], settings)
    run_id, at = "run_0000000000a1", datetime(2026, 11, 21, 10, tzinfo=UTC)
    bodies = [
        ModelCalled(
            caller="Triage", model="llama3", key="k", occurrence=0, replayed=False, usage=Usage(prompt_tokens=9)
        ),
        FINISHED,
    ]
    events = [Event(run_id=run_id, number=number, at=at, body=bodies[number == 900]) for number in range(2, 901)]
    call = make_call("What? \ud800 " * 5000, at)
    answer = ANSWER.model_copy(update={"run_id": run_id, "usage": Usage(prompt_tokens=7, completion_tokens=3)})
    before = make_raw_engine(settings)
    tables = sql.MetaData()
    tables.reflect(before)
    with before.begin() as connection:
        rows = [{"run_id": run_id, "number": each.number, "event": each.model_dump(mode="json")} for each in events]
        connection.execute(tables.tables["events"].insert(), rows)
        row = {"run_id": run_id, "key": "x", "occurrence": 0, "recorded_at": at, "entry": call.model_dump(mode="json")}
        connection.execute(tables.tables["journal"].insert(), row)
        runs = tables.tables["runs"]
        change = runs.update().where(runs.c.run_id == run_id).values(answer=answer.model_dump(mode="json"), key="a")
        connection.execute(change)
    before.dispose()
    file = settings.home / DATABASE
    old_size = file.stat().st_size if file.exists() else 0
    engine = open_database(settings, import_stores)
    trace = Trace(engine)
    assert trace.events(run_id, after=1) == events
    assert SqlJournal(engine, run_id).find("x", 0) == call
    assert trace.answer(run_id) == answer
    assert trace.tokens_since("a", at) == 1200
    assert [event.body.type for event in trace.recent_calls()] == ["model_called"] * 898
    run = trace.run(run_id)
    assert (run.tokens, run.seconds, run.cost, run.confidence) == (10, 0.0, None, answer.confidence)
    with engine.connect() as connection:
        columns = (("events", "event"), ("journal", "entry"), ("tool_calls", "entry"), ("runs", "answer"))
        stored = [f"(SELECT sum(length({name})) FROM {table} WHERE run_id = '{run_id}')" for table, name in columns]
        assert run.size == connection.scalar(sql.text(f"SELECT {' + '.join(stored)}"))
    engine.dispose()
    if file.exists():
        assert file.stat().st_size < old_size - 10_000  # although new tables take pages


def test_a_database_of_a_newer_version_is_rejected(settings: Settings) -> None:
    engine = open_database(settings, import_stores)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    with pytest.raises(HomeError, match=r"written by a newer Candor: its schema version is '9999'.*Upgrade Candor"):
        open_database(settings, import_stores)


def test_concurrent_threads_upgrade_once(settings: Settings) -> None:
    load(NAMES[4], settings)
    with ThreadPoolExecutor(PROCESSES) as threads:
        engines = list(threads.map(lambda _: open_database(settings, import_stores), range(PROCESSES)))
    assert differences(engines[0]) == []
    for engine in engines:
        engine.dispose()


def test_concurrent_processes_upgrade_once(settings: Settings) -> None:
    load(NAMES[4], settings)
    context = multiprocessing.get_context("spawn")
    url = settings.database_url.get_secret_value() if settings.database_url else None
    with context.Pool(PROCESSES) as pool:
        assert pool.starmap(open_and_count, [(str(settings.home), url)] * PROCESSES, chunksize=1) == [2] * PROCESSES


def test_a_failed_upgrade_changes_nothing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load(NAMES[-1], settings)
    monkeypatch.setattr("api.storage.upgrade._run_migrations", fail_after_first_statement)
    with pytest.raises(RuntimeError):
        open_database(settings, import_stores)
    assert rows_of(make_raw_engine(settings)) == before


def test_an_up_to_date_database_opens_without_alembic(tmp_path: Path) -> None:
    open_database(Settings(home=tmp_path), import_stores).dispose()
    code = (
        "import sys; from pathlib import Path; from api.settings import Settings;"
        "from api.storage.database import open_database; open_database(Settings(home=Path(sys.argv[1])), exit);"
        "assert 'alembic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def test_the_newest_version_is_alembics_head() -> None:
    config = Config()
    config.set_main_option("script_location", "api.storage:migrations")
    assert ScriptDirectory.from_config(config).get_current_head() == newest_version()


def test_upgrading_twice_is_safe(settings: Settings) -> None:
    engine = open_database(settings, import_stores)
    upgrade_schema(engine, import_stores)
    assert differences(engine) == []
    engine.dispose()


def load(state: str, settings: Settings) -> Rows:
    """Create the database from a dump, and return its rows."""
    dialect = "postgres" if settings.database_url else "sqlite"
    dump = (STATES / dialect / f"{state}.sql").read_text()
    engine = make_raw_engine(settings)
    if settings.database_url is None:
        with sqlite3.connect(settings.home / DATABASE) as connection:
            connection.executescript(dump)
    else:
        with engine.begin() as connection:
            connection.exec_driver_sql(dump.replace("%", "%%"))
    rows = rows_of(engine)
    engine.dispose()
    return rows


def make_call(prompt: str, at: datetime) -> JournalEntry:
    return JournalEntry(
        key="x",
        occurrence=0,
        model="llama3",
        messages=(Message(role="user", content=prompt),),
        response_model="Triage",
        value={},
        exchanges=(),
        usage=Usage(prompt_tokens=1000, completion_tokens=200),
        recorded_at=at,
    )


def make_raw_engine(settings: Settings) -> sql.Engine:
    """Return an engine without upgrading the schema."""
    if settings.database_url:
        return sql.create_engine(settings.database_url.get_secret_value())
    return sql.create_engine(f"sqlite:///{settings.home / DATABASE}")


def rows_of(engine: sql.Engine) -> Rows:
    """Return the rows of every table except Alembic's."""
    tables = sql.MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        return {
            table.name: [
                dict(row) for row in connection.execute(sql.select(table).order_by(*table.primary_key)).mappings()
            ]
            for table in tables.sorted_tables
            if table.name != "alembic_version"
        }


def columns_of(engine: sql.Engine) -> dict[str, list[tuple[str, str, bool, Any]]]:
    """Return name, type, nullability and default of the columns of every table, by name."""
    inspector = sql.inspect(engine)
    return {
        table: sorted((each["name"], str(each["type"]), each["nullable"], each["default"]) for each in columns)
        for table in inspector.get_table_names()
        if (columns := inspector.get_columns(table))
    }


def differences(engine: sql.Engine) -> list[Any]:
    """Return how the schema of the database differs from the tables that the stores declare."""
    import_all_modules()
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, METADATA))


def unpacked(table: str, column: str, value: Any) -> Any:
    """Return the value of a column as it was before columns were compressed."""
    return json.loads(zlib.decompress(value)) if value is not None and column in COMPRESSED.get(table, ()) else value


def open_and_count(home: str, url: str | None) -> int:
    """Open the database in another process, and return the number of runs."""
    engine = open_database(Settings(home=Path(home), database_url=url), import_stores)
    with engine.connect() as connection:
        count = connection.scalar(sql.text("SELECT count(*) FROM runs"))
    engine.dispose()
    return int(count)


def fail_after_first_statement(connection: sql.Connection) -> None:
    connection.exec_driver_sql("CREATE TABLE half_done (id INTEGER)")
    raise RuntimeError

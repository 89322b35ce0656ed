"""Databases of earlier releases are brought up to date when they are opened."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sql

from multi_agent.storage.trace import Trace


def test_runs_that_were_stored_without_who_asked_are_those_of_the_person_at_the_machine(tmp_path: Path) -> None:
    engine = sql.create_engine(f"sqlite:///{tmp_path / 'candor.db'}")
    Trace(engine).create("run_old", "Why?", "papers", "a model", "a key")
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX ix_runs_key")
        connection.exec_driver_sql('ALTER TABLE runs DROP COLUMN "key"')
    trace = Trace(engine)
    assert trace.run("run_old").key == ""
    trace.create("run_new", "Why?", "papers", "a model", "a key")
    assert trace.run("run_new").key == "a key"
    assert "ix_runs_key" in {index["name"] for index in sql.inspect(engine).get_indexes("runs")}

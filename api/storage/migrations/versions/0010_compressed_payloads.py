"""Compress answers, events, model calls and tool calls. What queries need from them becomes columns.

Each table is written anew, one run after the other, and the old one is dropped. So are the citations, which refer to
runs. Postgres frees the space of a dropped table. On SQLite, ``upgrade_schema`` shrinks the file.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import sqlalchemy as sql
from alembic import op

revision = "0010"
down_revision = "0009"

Row = dict[str, Any]

TABLES = sql.MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ix": "ix_%(column_0_label)s",
    }
)
TIME = sql.DateTime(timezone=True)

RUNS = sql.Table(
    "runs",
    TABLES,
    sql.Column("run_id", sql.String(64), primary_key=True),
    sql.Column("collection", sql.String(64), nullable=False),
    sql.Column("question", sql.Text, nullable=False),
    sql.Column("model", sql.String(200), nullable=False),
    sql.Column("status", sql.String(20), nullable=False),
    sql.Column("started_at", TIME, nullable=False, index=True),
    sql.Column("key", sql.String(64), nullable=False, server_default="", index=True),
    sql.Column("continues", sql.String(64), nullable=False, server_default="", index=True),
    sql.Column("rating", sql.String(4), nullable=True),
    sql.Column("note", sql.Text, nullable=False, server_default=""),
    sql.Column("environment", sql.String(64), nullable=False, server_default=""),
    sql.Column("forked_from", sql.String(64), nullable=False, server_default="", index=True),
    sql.Column("forked_at", sql.String(64), nullable=False, server_default=""),
    sql.Column("seconds", sql.Float, nullable=True),
    sql.Column("tokens", sql.Integer, nullable=True),
    sql.Column("cost", sql.Float, nullable=True),
    sql.Column("confidence", sql.Float, nullable=True),
    sql.Column("size", sql.BigInteger, nullable=True),
    sql.Column("answer", sql.LargeBinary, nullable=True),
)
EVENTS = sql.Table(
    "events",
    TABLES,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("type", sql.String(40), nullable=False),
    sql.Column("event", sql.LargeBinary, nullable=False),
)
JOURNAL = sql.Table(
    "journal",
    TABLES,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("key", sql.String(64), primary_key=True),
    sql.Column("occurrence", sql.Integer, primary_key=True),
    sql.Column("recorded_at", TIME, nullable=False),
    sql.Column("tokens", sql.Integer, nullable=False),
    sql.Column("entry", sql.LargeBinary, nullable=False),
)
TOOL_CALLS = sql.Table(
    "tool_calls",
    TABLES,
    sql.Column("run_id", sql.String(64), primary_key=True),
    sql.Column("key", sql.String(64), primary_key=True),
    sql.Column("occurrence", sql.Integer, primary_key=True),
    sql.Column("began_at", TIME, nullable=False),
    sql.Column("entry", sql.LargeBinary, nullable=False),
)
CITATIONS = sql.Table(
    "citations",
    TABLES,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("document_id", sql.String(64), nullable=False, index=True),
    sql.Column("number", sql.Integer, nullable=True),
    sql.Column("pages", sql.JSON, nullable=False),
    sql.Column("start", sql.Integer, nullable=False),
    sql.Column("end", sql.Integer, nullable=False),
    sql.Column("quote", sql.Text, nullable=False),
)


def upgrade() -> None:
    connection = op.get_bind()
    old = [
        _rewrite(connection, RUNS, _run),
        _rewrite(connection, EVENTS, _event),
        _rewrite(connection, JOURNAL, _model_call),
        _rewrite(connection, TOOL_CALLS, _tool_call),
        _rewrite(connection, CITATIONS, dict),
    ]
    for name in reversed(old):  # the runs last, because others refer to them
        op.drop_table(name)
    _measure(connection)


def _rewrite(connection: sql.Connection, table: sql.Table, convert: Callable[[Row], Row]) -> str:
    """Rename the table, and create and fill the new one. Return the new name of the old table."""
    name = f"old_{table.name}"
    for index in sql.inspect(connection).get_indexes(table.name):
        op.drop_index(str(index["name"]), table.name)
    op.rename_table(table.name, name)
    if connection.dialect.name == "postgresql":  # where the names of primary keys are unique
        connection.exec_driver_sql(f"ALTER TABLE {name} RENAME CONSTRAINT {table.name}_pkey TO {name}_pkey")
    table.create(connection)
    old = sql.Table(name, sql.MetaData(), autoload_with=connection, resolve_fks=False)
    for run_id in connection.scalars(sql.select(old.c.run_id).distinct()).all():
        rows = connection.execute(sql.select(old).where(old.c.run_id == run_id)).mappings().all()
        connection.execute(table.insert(), [convert(dict(row)) for row in rows])
    return name


def _run(row: Row) -> Row:
    """Return a run with the figures of its answer."""
    answer = row["answer"] or None
    figures: Row = {"seconds": None, "tokens": None, "cost": None, "confidence": None}
    if answer:
        usage = answer.get("usage") or {}
        figures = {
            "seconds": usage.get("seconds", 0.0),
            "tokens": _tokens(usage),
            "cost": usage.get("cost") or None,
            "confidence": answer.get("confidence", 0.0) if answer.get("answer") else None,
        }
    return {**row, **figures, "answer": _compress(answer) if answer else None}


def _event(row: Row) -> Row:
    return {**row, "type": row["event"]["body"]["type"], "event": _compress(row["event"])}


def _model_call(row: Row) -> Row:
    return {**row, "tokens": _tokens(row["entry"].get("usage") or {}), "entry": _compress(row["entry"])}


def _tool_call(row: Row) -> Row:
    return {**row, "entry": _compress(row["entry"])}


def _tokens(usage: Row) -> int:
    return int(usage.get("prompt_tokens", 0)) + int(usage.get("completion_tokens", 0))


def _compress(value: Row) -> bytes:
    """Return the value as ``multi_agent/storage/tables.py`` stores it."""
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def _measure(connection: sql.Connection) -> None:
    """Store the sizes of the runs that have ended."""
    size: sql.ColumnElement[int] = sql.func.length(RUNS.c.answer)
    for payload in (EVENTS.c.event, JOURNAL.c.entry, TOOL_CALLS.c.entry):
        total = sql.select(sql.func.coalesce(sql.func.sum(sql.func.length(payload)), 0))
        size += total.where(payload.table.c.run_id == RUNS.c.run_id).scalar_subquery()
    connection.execute(RUNS.update().where(RUNS.c.answer.is_not(None)).values(size=size))

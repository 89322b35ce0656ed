"""The sizes of runs in bytes, as stored: their events, model calls, tool calls and answers."""

from __future__ import annotations

import sqlalchemy as sql

from multi_agent.storage.tables import EVENTS, JOURNAL, RUNS
from multi_agent.storage.tool_calls import CALLS


def _stored(payload: sql.Column[object]) -> sql.ColumnElement[int]:
    """Return the bytes of a column in all rows of a run. Both databases count them without reading the content."""
    total = sql.func.coalesce(sql.func.sum(sql.func.length(payload)), 0)
    return sql.select(total).where(payload.table.c.run_id == RUNS.c.run_id).scalar_subquery()


_SIZE = (
    _stored(EVENTS.c.event)
    + _stored(JOURNAL.c.entry)
    + _stored(CALLS.c.entry)
    + sql.func.coalesce(sql.func.length(RUNS.c.answer), 0)
)
_STORE = RUNS.update().where(RUNS.c.run_id == sql.bindparam("ended")).values(size=_SIZE)


def store_size(connection: sql.Connection, run_id: str) -> None:
    """Store the size of a run that has ended."""
    connection.execute(_STORE, {"ended": run_id})

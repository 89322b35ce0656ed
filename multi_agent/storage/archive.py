"""Imports and deletes whole runs, including their events, model calls, tool calls and citations."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import UTC

import sqlalchemy as sql
from pydantic import Field

from base.database import SqlStore
from base.models import FrozenModel
from multi_agent.errors import RunExists, RunNotStored
from multi_agent.storage.citations import CITATIONS, citation_rows
from multi_agent.storage.environments import forget_unused, keep_environment
from multi_agent.storage.recording import Recording
from multi_agent.storage.selections import within
from multi_agent.storage.sizes import store_size
from multi_agent.storage.tables import EVENTS, JOURNAL, RUNS, answer_columns, event_row, journal_row
from multi_agent.storage.tool_calls import CALLS, tool_row

_PARTS = (EVENTS, JOURNAL, CITATIONS, CALLS)
_COPIED = {"run_id", "collection", "question", "model", "continues", "forked_from", "forked_at", "rating", "note"}


class StoredRuns(FrozenModel):
    """The space that runs take."""

    runs: int
    bytes: int = Field(description="bytes of their events, model calls, tool calls and answers, as stored")


class RunArchive(SqlStore):
    """Whole runs in the SQL database."""

    def add(self, recording: Recording) -> None:
        """Store a run with all its parts, in one transaction. It belongs to no API key.

        Raises RunExists, and RunNotStored if the database rejects a value. Neither changes anything.
        """
        try:
            self._add(recording)
        except (sql.exc.DataError, OverflowError) as error:
            raise RunNotStored(f"Run {recording.run.run_id!r} has a value that cannot be stored: {error}.") from error

    def _add(self, recording: Recording) -> None:
        run, answer = recording.run, recording.answer
        row = run.model_dump(include=_COPIED) | {"started_at": run.started_at.astimezone(UTC)} | answer_columns(answer)
        with self._engine.begin() as connection:
            if connection.execute(sql.select(RUNS.c.run_id).where(RUNS.c.run_id == run.run_id)).first():
                raise RunExists(f"Run {run.run_id!r} is already stored here. Nothing was changed.")
            row["environment"] = keep_environment(connection, recording.environment) if recording.environment else ""
            connection.execute(RUNS.insert(), row)
            for table, rows in (
                (EVENTS, [event_row(each) for each in recording.events]),
                (JOURNAL, [journal_row(run.run_id, each) for each in recording.calls]),
                (CALLS, [tool_row(run.run_id, each) for each in recording.tool_calls]),
                (CITATIONS, citation_rows(answer)),
            ):
                if rows:
                    connection.execute(table.insert(), [{**each, "run_id": run.run_id} for each in rows])
            store_size(connection, run.run_id)

    def usage(self, among: Set[str] | None = None) -> StoredRuns:
        """Return the number and the size of the runs over these collections. None means all."""
        size = sql.func.coalesce(sql.func.sum(RUNS.c.size), 0)
        query = sql.select(sql.func.count().label("runs"), size.label("bytes")).where(within(RUNS.c.collection, among))
        [row] = self._select(query)
        return StoredRuns(runs=row.runs, bytes=int(row.bytes))

    def delete(self, run_ids: Sequence[str]) -> None:
        """Delete runs with their events, journals, tool calls and citations, in one transaction."""
        if not run_ids:
            return
        with self._engine.begin() as connection:
            for table in (*_PARTS, RUNS):  # one statement per run: the number of parameters of a statement is limited
                delete = table.delete().where(table.c.run_id == sql.bindparam("run"))
                connection.execute(delete, [{"run": run_id} for run_id in run_ids])
            forget_unused(connection, sql.select(RUNS.c.environment))

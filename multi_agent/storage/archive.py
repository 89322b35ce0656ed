"""Imports and deletes whole runs, including their events, model calls, tool calls and citations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sql

from multi_agent.errors import RunExists
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.storage.citations import CITATIONS, citation_rows
from multi_agent.storage.environments import forget_unused, keep_environment
from multi_agent.storage.recording import Recording
from multi_agent.storage.tables import EVENTS, JOURNAL, RUNS
from multi_agent.storage.tool_calls import CALLS, ToolEntry

_PARTS = (EVENTS, JOURNAL, CITATIONS, CALLS)
_COPIED = {"run_id", "collection", "question", "model", "status", "started_at", "continues", "forked_from", "forked_at",
           "rating", "note"}  # fmt: skip


class RunArchive:
    """Whole runs in the SQL database."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    def add(self, recording: Recording) -> None:
        """Store a run with all its parts, in one transaction. It belongs to no API key. Raises RunExists."""
        run_id, answer = recording.run.run_id, recording.answer
        row = recording.run.model_dump(include=_COPIED) | {"answer": answer.model_dump(mode="json"), "key": ""}
        with self._engine.begin() as connection:
            if connection.execute(sql.select(RUNS.c.run_id).where(RUNS.c.run_id == run_id)).first():
                raise RunExists(f"Run {run_id!r} is already in this data folder. Nothing was changed.")
            row["environment"] = keep_environment(connection, recording.environment) if recording.environment else ""
            connection.execute(RUNS.insert(), row)
            for table, rows in (
                (EVENTS, [{"number": each.number, "event": each.model_dump(mode="json")} for each in recording.events]),
                (JOURNAL, [_entry(each, each.recorded_at, "recorded_at") for each in recording.calls]),
                (CALLS, [_entry(each, each.began_at, "began_at") for each in recording.tool_calls]),
                (CITATIONS, citation_rows(answer)),
            ):
                if rows:
                    connection.execute(table.insert(), [{**each, "run_id": run_id} for each in rows])

    def sizes(self) -> Counter[str]:
        """Return the size of every run by its id: the characters of its events, model calls and tool calls."""
        found: Counter[str] = Counter()
        with self._engine.connect() as connection:
            for table, column in ((EVENTS, EVENTS.c.event), (JOURNAL, JOURNAL.c.entry), (CALLS, CALLS.c.entry)):
                size = sql.func.sum(sql.func.length(sql.cast(column, sql.Text)))
                for run_id, characters in connection.execute(sql.select(table.c.run_id, size).group_by(table.c.run_id)):
                    found[run_id] += int(characters)
        return found

    def delete(self, run_ids: Sequence[str]) -> None:
        """Delete runs with their events, journals, tool calls and citations, in one transaction."""
        if not run_ids:
            return
        with self._engine.begin() as connection:
            for table in (*_PARTS, RUNS):  # one statement per run: the number of parameters of a statement is limited
                delete = table.delete().where(table.c.run_id == sql.bindparam("run"))
                connection.execute(delete, [{"run": run_id} for run_id in run_ids])
            forget_unused(connection, sql.select(RUNS.c.environment))


def _entry(entry: JournalEntry | ToolEntry, at: datetime, column: str) -> dict[str, object]:
    """Return the row of a model call or a tool call."""
    return {
        "key": entry.key, "occurrence": entry.occurrence, column: at, "entry": entry.model_dump(mode="json")
    }  # fmt: skip

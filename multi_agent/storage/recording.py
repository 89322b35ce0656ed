"""Whole runs: what is stored about an ended run, their import and deletion, and the state of a resumed run."""

from collections.abc import Sequence, Set
from datetime import UTC
from functools import cached_property
from itertools import pairwise

import sqlalchemy as sql
from pydantic import Field

from base.bin import Kind, kept
from base.database import SqlStore
from base.models import FrozenModel
from multi_agent.errors import RunExists, RunNotStored, RunUnderWay
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.llm.wrappers.usage import Meter
from multi_agent.model import Usage
from multi_agent.storage.tables import (
    CALLS,
    CITATIONS,
    EVENTS,
    JOURNAL,
    RUNS,
    Environment,
    answer_columns,
    citation_rows,
    event_row,
    forget_unused,
    journal_row,
    keep_environment,
    store_size,
    within,
)
from multi_agent.storage.tool_calls import ToolCalls, ToolEntry, tool_row
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.answer import Answer
from multi_agent.values.events import Event, ModelFailed, RunResumed, RunStarted, started_in


class Recording(FrozenModel):
    """An ended run with its events, model calls, tool calls, answer and environment."""

    run: RunSummary
    answer: Answer
    events: tuple[Event, ...]
    calls: tuple[JournalEntry, ...]
    tool_calls: tuple[ToolEntry, ...]
    environment: Environment | None

    @property
    def started(self) -> RunStarted | None:
        """The first event; None if the run ended before it started."""
        return started_in(self.events)

    def renamed(self, run_id: str) -> "Recording":
        """Return the same run with another id."""
        run, answer, *events = (
            part.model_copy(update={"run_id": run_id}) for part in (self.run, self.answer, *self.events)
        )
        return self.model_copy(update={"run": run, "answer": answer, "events": tuple(events)})


def load_recording(trace: Trace, tools: ToolCalls, run_id: str) -> Recording:
    """Return everything about a run. Raises RunNotFound, and RunUnderWay if it has not ended."""
    run = trace.run(run_id)
    if not run.ended:
        raise RunUnderWay(f"Run {run.run_id!r} has not ended. Wait for its end, or cancel it.")
    return Recording(
        run=run,
        answer=trace.answer(run.run_id),
        events=tuple(trace.events(run.run_id)),
        calls=tuple(trace.journal_entries(run.run_id)),
        tool_calls=tuple(tools.entries(run.run_id)),
        environment=trace.environment(run.run_id),
    )


def last_try(events: Sequence[Event]) -> list[Event]:
    """Return the first event and the events since the last resumption. A resumed run starts from the beginning."""
    resumed = max((at for at, event in enumerate(events) if isinstance(event.body, RunResumed)), default=0)
    return [*events[:1], *events[resumed + 1 :]]


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
                raise RunExists(f"Run {run.run_id!r} is already stored here, or in the bin. Nothing was changed.")
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
        """Return the number and the size of the runs over these collections, without the bin. None means all."""
        size = sql.func.coalesce(sql.func.sum(RUNS.c.size), 0)
        query = sql.select(sql.func.count().label("runs"), size.label("bytes"))
        query = query.where(within(RUNS.c.collection, among), kept(Kind.RUN, RUNS.c.run_id))
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


class ResumedRun:
    """The events and journal entries of a run so far. Both are empty for a new run."""

    def __init__(self, events: Sequence[Event], journal: Sequence[JournalEntry]) -> None:
        self.events, self._journal = events, journal

    @classmethod
    def of(cls, trace: Trace, run_id: str) -> "ResumedRun":
        """Load the events and journal entries of the run."""
        events = trace.events(run_id)
        return cls(events, trace.journal_entries(run_id) if events else ())

    @property
    def resumed(self) -> int:
        """The number of earlier resumptions."""
        return sum(isinstance(event.body, RunResumed) for event in self.events)

    @property
    def answered(self) -> int:
        """The number of model calls with a response in the journal."""
        return len(self._journal)

    @cached_property
    def usage(self) -> Usage:
        """The usage of all finished calls, which are calls in the journal (even without an event) and failed calls.

        Calls that were in progress when the process was killed are unknown and not counted.
        """
        failed = [event.body.usage for event in self.events if isinstance(event.body, ModelFailed)]
        return sum((*failed, *(entry.usage for entry in self._journal)), Usage())

    @cached_property
    def seconds(self) -> float:
        """The seconds during which processes worked on the run, without the time between them."""
        return sum(
            (after.at - before.at).total_seconds()
            for before, after in pairwise(self.events)
            if not isinstance(after.body, RunResumed)
        )

    def meter(self) -> Meter:
        """Return a meter that has counted the run's events, so that replayed calls are not counted again."""
        meter = Meter()
        for event in self.events:
            meter.count(event)
        return meter

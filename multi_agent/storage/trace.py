"""The trace in SQL: runs with their answers, their events as they happen, and the journal of their model calls.

Writes are small and happen in the event loop, in order; SQLite in WAL mode takes well under a millisecond for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from datetime import UTC, datetime

import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from multi_agent.answer import Answer, Status
from multi_agent.errors import RunNotFound, RunUnderWay
from multi_agent.events import Event, RunFinished
from multi_agent.llm.journal import Journal, JournalEntry
from multi_agent.llm.observed import Meter
from multi_agent.storage.run_filter import ALL_RUNS, RunFilter, RunState
from vectorstore.database import METADATA
from vectorstore.models import FrozenModel

_runs = sql.Table(
    "runs",
    METADATA,
    sql.Column("run_id", sql.String(64), primary_key=True),
    sql.Column("collection", sql.String(64), nullable=False),
    sql.Column("question", sql.Text, nullable=False),
    sql.Column("model", sql.String(200), nullable=False),
    sql.Column("status", sql.String(20), nullable=False),
    sql.Column("started_at", sql.DateTime(timezone=True), nullable=False, index=True),
    sql.Column("answer", sql.JSON, nullable=True),
    sql.Column("key", sql.String(64), nullable=False, server_default="", index=True),
)

_events = sql.Table(
    "events",
    METADATA,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("event", sql.JSON, nullable=False),
)

_journal = sql.Table(
    "journal",
    METADATA,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("key", sql.String(64), primary_key=True),
    sql.Column("occurrence", sql.Integer, primary_key=True),
    sql.Column("recorded_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("entry", sql.JSON, nullable=False),
)

# Made once: to put a statement together takes longer than to carry it out.
_KEEP_EVENT, _KEEP_ENTRY = _events.insert(), _journal.insert()
_FIND_ENTRY = sql.select(_journal.c.entry).where(
    _journal.c.run_id == sql.bindparam("run_id"),
    _journal.c.key == sql.bindparam("key"),
    _journal.c.occurrence == sql.bindparam("occurrence"),
)
_SUMMARY = tuple(column for column in _runs.c if column is not _runs.c.answer)  # an answer can be long

WAITING = RunState.WAITING.value
RUNNING = RunState.RUNNING.value


class RunSummary(FrozenModel):
    """A run in a list of runs."""

    run_id: str
    collection: str
    question: str
    model: str
    status: str = Field(description="waiting for its turn, running, or its terminal state")
    started_at: AwareDatetime = Field(description="of one that waits: when it was asked for")
    key: str = Field(default="", description="id of the key of who asked; empty for the person at the machine")

    @property
    def ended(self) -> bool:
        """Whether it reached its terminal state."""
        return self.status not in (WAITING, RUNNING)


class Trace:
    """All that is kept of runs, in the database behind ``engine``.

    ``among``: only runs over these collections are there for who asks; None stands for all.
    """

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    def create(self, run_id: str, question: str, collection: str, model: str, key: str = "") -> None:
        """Note that a run was asked for, by whom, and waits for its turn. One that is known already stays as it is."""
        row = _row(run_id, question, collection, model, WAITING) | {"key": key}
        with self._engine.begin() as connection:
            if connection.execute(sql.select(_runs.c.run_id).where(_runs.c.run_id == run_id)).first() is None:
                connection.execute(_runs.insert(), row)

    def start(self, run_id: str, question: str, collection: str, model: str) -> None:
        """Note that a run started. One that is running already is resumed, and stays as it is."""
        row = _row(run_id, question, collection, model, RUNNING)
        running = sql.select(_runs.c.run_id).where(_runs.c.run_id == run_id, _runs.c.status == RUNNING)
        waited = _runs.update().where(_runs.c.run_id == run_id, _runs.c.status == WAITING)
        with self._engine.begin() as connection:
            if connection.execute(running).first() is None and not connection.execute(waited, row).rowcount:
                connection.execute(_runs.insert(), row)

    async def record(self, event: Event) -> None:
        """Keep an event: subscribe this to a run's bus."""
        with self._engine.begin() as connection:
            connection.execute(_KEEP_EVENT, _event_row(event))

    def finish(self, answer: Answer, last: Event) -> None:
        """Keep the answer and the run's last event, both or neither: a run that is killed has ended once, or not."""
        values = {"status": answer.status.value, "answer": answer.model_dump(mode="json")}
        with self._engine.begin() as connection:
            connection.execute(_KEEP_EVENT, _event_row(last))
            connection.execute(_runs.update().where(_runs.c.run_id == answer.run_id).values(values))

    def abort(self, run_id: str, status: Status, reason: str) -> Event:
        """End a run that nobody works on (any more): its last event, and an answer that says why there is none."""
        run, happened, meter = self.run(run_id), self.events(run_id), Meter()
        for event in happened:
            meter.count(event)
        answer = Answer(
            run_id=run_id, status=status, mode="", question=run.question, reasoning=reason, usage=meter.usage
        )
        body = RunFinished(status=status.value, reason=reason, usage=meter.usage)
        last = Event(run_id=run_id, number=len(happened) + 1, at=datetime.now(UTC), body=body)
        self.finish(answer, last)
        return last

    def journal(self, run_id: str) -> Journal:
        """The journal of one run."""
        return SqlJournal(self._engine, run_id)

    def runs(self, limit: int = 50, wanted: RunFilter = ALL_RUNS, *, among: Set[str] | None = None) -> list[RunSummary]:
        """The latest of the wanted runs, newest first; ``among`` names the only collections that are looked at.

        Raises RunNotFound if the run to go on after is not there.
        """
        query = sql.select(*_SUMMARY).where(_within(among), *_conditions(wanted))
        if wanted.after is not None:
            query = query.where(_older_than(self.run(wanted.after, among)))
        query = query.order_by(_runs.c.started_at.desc(), _runs.c.run_id).limit(limit)
        return [_summary(row) for row in self._select(query)]

    def counts(self) -> dict[RunState, int]:
        """How many runs are in each state."""
        rows = self._select(sql.select(_runs.c.status, sql.func.count().label("runs")).group_by(_runs.c.status))
        return {RunState(row.status): row.runs for row in rows}

    def tokens_since(self, key: str, since: datetime) -> int:
        """Tokens of all model calls that were answered since then, in runs that were asked for with this key."""
        usage = _journal.c.entry["usage"]
        taken = usage["prompt_tokens"].as_integer() + usage["completion_tokens"].as_integer()
        query = (
            sql.select(sql.func.coalesce(sql.func.sum(taken), 0).label("tokens"))
            .select_from(_journal.join(_runs))
            .where(_runs.c.key == key, _journal.c.recorded_at >= since)
        )
        [row] = self._select(query)
        return int(row.tokens)

    def unfinished(self) -> list[RunSummary]:
        """Runs that have not reached their terminal state, whoever works on them."""
        query = sql.select(*_SUMMARY).where(_runs.c.status.in_((WAITING, RUNNING)))
        return [_summary(row) for row in self._select(query)]

    def run(self, run_id: str, among: Set[str] | None = None) -> RunSummary:
        """The run with this id, or with an id that starts so if there is just one. Raises RunNotFound."""
        query = sql.select(*_SUMMARY).where(_within(among))
        rows = self._select(query.where(_runs.c.run_id == run_id))
        if not rows:  # only now, since no index helps to find the beginning of an id
            rows = self._select(query.where(_runs.c.run_id.startswith(run_id, autoescape=True)).limit(2))
        if not rows:
            raise RunNotFound(f"There is no run {run_id!r}; `candor runs` lists those there are.")
        if len(rows) > 1:
            raise RunNotFound(f"More than one run begins with {run_id!r}; give more of its id.")
        return _summary(rows[0])

    def answer(self, run_id: str) -> Answer:
        """The answer of a finished run. Raises RunNotFound; RunUnderWay if it has not finished."""
        [row] = self._select(sql.select(_runs).where(_runs.c.run_id == self.run(run_id).run_id))
        if row.answer is None:
            raise RunUnderWay(f"Run {row.run_id!r} has not finished; `candor trace {row.run_id}` shows how far it is.")
        return Answer.model_validate(row.answer)

    def events(self, run_id: str, after: int = 0) -> list[Event]:
        """Events of the run with a number over ``after``, in order."""
        query = (
            sql.select(_events.c.event)
            .where(_events.c.run_id == run_id, _events.c.number > after)
            .order_by(_events.c.number)
        )
        return [Event.model_validate(row.event) for row in self._select(query)]

    def journal_entries(self, run_id: str) -> list[JournalEntry]:
        """Every model call of the run, in the order in which they were answered."""
        query = (
            sql.select(_journal.c.entry)
            .where(_journal.c.run_id == run_id)
            .order_by(_journal.c.recorded_at, _journal.c.key, _journal.c.occurrence)
        )
        return [JournalEntry.model_validate(row.entry) for row in self._select(query)]

    def _select(self, query: sql.Select[tuple[object, ...]]) -> Sequence[sql.Row[tuple[object, ...]]]:
        with self._engine.connect() as connection:
            return connection.execute(query).all()


class SqlJournal:
    """The journal of one run; see ``multi_agent/llm/journal.py``."""

    def __init__(self, engine: sql.Engine, run_id: str) -> None:
        self._engine, self._run_id = engine, run_id

    def find(self, key: str, occurrence: int) -> JournalEntry | None:
        """The entry, or None if that request has not been answered yet."""
        asked = {"run_id": self._run_id, "key": key, "occurrence": occurrence}
        with self._engine.connect() as connection:
            row = connection.execute(_FIND_ENTRY, asked).first()
        return JournalEntry.model_validate(row.entry) if row else None

    def record(self, entry: JournalEntry) -> None:
        """Keep the entry durably."""
        row = {
            "run_id": self._run_id,
            "key": entry.key,
            "occurrence": entry.occurrence,
            "recorded_at": entry.recorded_at,
            "entry": entry.model_dump(mode="json"),
        }
        with self._engine.begin() as connection:
            connection.execute(_KEEP_ENTRY, row)


def _within(among: Set[str] | None) -> sql.ColumnElement[bool]:
    return sql.true() if among is None else _runs.c.collection.in_(sorted(among))


def _conditions(wanted: RunFilter) -> Iterator[sql.ColumnElement[bool]]:
    """All that is asked for but the place to go on after."""
    if wanted.collection is not None:
        yield _runs.c.collection == wanted.collection
    if wanted.status is not None:
        yield _runs.c.status.in_([state.value for state in wanted.status])
    if wanted.text is not None:
        yield _runs.c.question.icontains(wanted.text, autoescape=True)
    if wanted.model is not None:
        yield _runs.c.model == wanted.model
    if wanted.since is not None:
        yield _runs.c.started_at >= wanted.since.astimezone(UTC)
    if wanted.until is not None:
        yield _runs.c.started_at <= wanted.until.astimezone(UTC)


def _older_than(run: RunSummary) -> sql.ColumnElement[bool]:
    """What comes after it in the order of lists."""
    at = run.started_at.astimezone(UTC)
    return sql.or_(_runs.c.started_at < at, sql.and_(_runs.c.started_at == at, _runs.c.run_id > run.run_id))


def _summary(row: sql.Row[tuple[object, ...]]) -> RunSummary:
    values = dict(row._mapping)
    if values["started_at"].tzinfo is None:  # SQLite keeps no time zone; all times are written in UTC
        values["started_at"] = values["started_at"].replace(tzinfo=UTC)
    return RunSummary(**values)


def _event_row(event: Event) -> dict[str, object]:
    return {"run_id": event.run_id, "number": event.number, "event": event.model_dump(mode="json")}


def _row(run_id: str, question: str, collection: str, model: str, status: str) -> dict[str, object]:
    return {
        "run_id": run_id,
        "collection": collection,
        "question": question,
        "model": model,
        "status": status,
        "started_at": datetime.now(UTC),
    }

"""The trace in SQL, with runs, their answers and events, and the journal of their model calls.

Writes are small and run in the event loop in order. On SQLite in WAL mode, a write takes well under a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from datetime import UTC, datetime

import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from multi_agent.answer import Answer, Status
from multi_agent.errors import RunNotFound, RunUnderWay
from multi_agent.events import Event, RunFinished, RunStarted
from multi_agent.llm.wrappers.journal import Journal, JournalEntry
from multi_agent.llm.wrappers.observed import Meter
from multi_agent.storage.citations import CITATIONS, Citation, citation_rows
from multi_agent.storage.other_calls import other_tokens
from multi_agent.storage.run_filter import ALL_RUNS, Rating, RunFilter, RunSort, RunState
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
    sql.Column("continues", sql.String(64), nullable=False, server_default="", index=True),
    sql.Column("rating", sql.String(4), nullable=True),
    sql.Column("note", sql.Text, nullable=False, server_default=""),
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

# Compiled once, because building a statement takes longer than executing it.
_INSERT_EVENT, _INSERT_ENTRY = _events.insert(), _journal.insert()
_FIND_ENTRY = sql.select(_journal.c.entry).where(
    _journal.c.run_id == sql.bindparam("run_id"),
    _journal.c.key == sql.bindparam("key"),
    _journal.c.occurrence == sql.bindparam("occurrence"),
)
_USAGE = _runs.c.answer["usage"]
_FIGURES = {
    "seconds": _USAGE["seconds"].as_float(),
    "tokens": _USAGE["prompt_tokens"].as_integer() + _USAGE["completion_tokens"].as_integer(),
    "cost": sql.func.nullif(_USAGE["cost"].as_float(), 0.0),  # 0 means that no price is set
    "confidence": sql.case((_runs.c.answer["answer"].as_string() != "", _runs.c.answer["confidence"].as_float())),
}
_SORTED_BY = {
    RunSort.DURATION: "seconds",
    RunSort.TOKENS: "tokens",
    RunSort.COST: "cost",
    RunSort.CONFIDENCE: "confidence",
}
_SUMMARY = (  # without the answer, which can be long
    *(column for column in _runs.c if column is not _runs.c.answer),
    *(figure.label(name) for name, figure in _FIGURES.items()),
)

WAITING = RunState.WAITING.value
RUNNING = RunState.RUNNING.value


class RunSummary(FrozenModel):
    """A run in a list of runs."""

    run_id: str
    collection: str
    question: str
    model: str
    status: str = Field(description="waiting, running, or the terminal state")
    started_at: AwareDatetime = Field(description="time of the start; for a waiting run, of its submission")
    key: str = Field(default="", description="id of the API key; empty for a local user without a key")
    continues: str = Field(default="", description="id of the run whose conversation it continues; empty if none")
    rating: Rating | None = Field(default=None, description="a person's rating of the answer; null if not rated")
    note: str = Field(default="", description="the person's note on the answer")
    seconds: float | None = Field(default=None, description="duration of the run; null until it ends")
    tokens: int | None = Field(default=None, description="tokens of all prompts and responses; null until it ends")
    cost: float | None = Field(default=None, description="cost of the run; null without a price, and until it ends")
    confidence: float | None = Field(default=None, description="confidence of the answer; null without an answer")

    @property
    def ended(self) -> bool:
        """Whether the run has reached a terminal state."""
        return self.status not in (WAITING, RUNNING)


class Trace:
    """Runs with their events, journals and answers, in SQL.

    The parameter ``among`` restricts methods to runs over these collections. None means all.
    """

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    def create(
        self, run_id: str, question: str, collection: str, model: str, key: str = "", continues: str = ""
    ) -> None:
        """Add a waiting run. A run that exists stays unchanged."""
        row = _row(run_id, question, collection, model, WAITING, continues) | {"key": key}
        with self._engine.begin() as connection:
            if connection.execute(sql.select(_runs.c.run_id).where(_runs.c.run_id == run_id)).first() is None:
                connection.execute(_runs.insert(), row)

    def start(self, run_id: str, question: str, collection: str, model: str, continues: str = "") -> None:
        """Mark a run as running. A resumed run, which is already marked as running, stays unchanged."""
        row = _row(run_id, question, collection, model, RUNNING, continues)
        running = sql.select(_runs.c.run_id).where(_runs.c.run_id == run_id, _runs.c.status == RUNNING)
        waiting = _runs.update().where(_runs.c.run_id == run_id, _runs.c.status == WAITING)
        with self._engine.begin() as connection:
            if connection.execute(running).first() is None and not connection.execute(waiting, row).rowcount:
                connection.execute(_runs.insert(), row)

    async def record(self, event: Event) -> None:
        """Store an event. Subscribe this method to the bus of a run."""
        with self._engine.begin() as connection:
            connection.execute(_INSERT_EVENT, _event_row(event))

    def finish(self, answer: Answer, last: Event) -> None:
        """Store the answer with its citations, and the last event of a run, in one transaction."""
        values = {"status": answer.status.value, "answer": answer.model_dump(mode="json")}
        with self._engine.begin() as connection:
            connection.execute(_INSERT_EVENT, _event_row(last))
            connection.execute(_runs.update().where(_runs.c.run_id == answer.run_id).values(values))
            connection.execute(sql.delete(CITATIONS).where(CITATIONS.c.run_id == answer.run_id))
            if rows := citation_rows(answer):
                connection.execute(CITATIONS.insert(), rows)

    def rate(self, run_id: str, rating: Rating | None, note: str) -> None:
        """Store a rating of the answer of a run. Replaces an earlier rating. None removes it."""
        values = {"rating": rating and rating.value, "note": note}
        with self._engine.begin() as connection:
            connection.execute(_runs.update().where(_runs.c.run_id == run_id).values(values))

    def abort(self, run_id: str, status: Status, reason: str) -> Event:
        """End a run that no process works on, and return its last event. Its answer states the reason."""
        run, events, meter = self.run(run_id), self.events(run_id), Meter()
        for event in events:
            meter.count(event)
        answer = Answer(
            run_id=run_id, status=status, mode="", question=run.question, reasoning=reason, usage=meter.usage
        )
        body = RunFinished(status=status.value, reason=reason, usage=meter.usage)
        last = Event(run_id=run_id, number=len(events) + 1, at=datetime.now(UTC), body=body)
        self.finish(answer, last)
        return last

    def journal(self, run_id: str) -> Journal:
        """Return the journal of a run."""
        return SqlJournal(self._engine, run_id)

    def runs(self, limit: int = 50, wanted: RunFilter = ALL_RUNS, *, among: Set[str] | None = None) -> list[RunSummary]:
        """Return the first matching runs in the requested order.

        Raises RunNotFound if the run ``wanted.after`` does not exist.
        """
        query = sql.select(*_SUMMARY).where(_within(among), *_conditions(wanted))
        if wanted.after is not None:
            query = query.where(_follows(self.run(wanted.after, among), wanted.sort))
        figure = [_FIGURES[_SORTED_BY[wanted.sort]].desc().nulls_last()] if wanted.sort in _SORTED_BY else []
        query = query.order_by(*figure, _runs.c.started_at.desc(), _runs.c.run_id).limit(limit)
        return [_summary(row) for row in self._select(query)]

    def counts(self) -> dict[RunState, int]:
        """Return the number of runs in each state."""
        rows = self._select(sql.select(_runs.c.status, sql.func.count().label("runs")).group_by(_runs.c.status))
        return {RunState(row.status): row.runs for row in rows}

    def tokens_since(self, key: str, since: datetime) -> int:
        """Return the tokens of all model calls since then for an API key, in its runs and outside of them."""
        usage = _journal.c.entry["usage"]
        tokens = usage["prompt_tokens"].as_integer() + usage["completion_tokens"].as_integer()
        query = (
            sql.select((sql.func.coalesce(sql.func.sum(tokens), 0) + other_tokens(key, since)).label("tokens"))
            .select_from(_journal.join(_runs))
            .where(_runs.c.key == key, _journal.c.recorded_at >= since)
        )
        [row] = self._select(query)
        return int(row.tokens)

    def unfinished(self) -> list[RunSummary]:
        """Return all runs that have not reached a terminal state."""
        query = sql.select(*_SUMMARY).where(_runs.c.status.in_((WAITING, RUNNING)))
        return [_summary(row) for row in self._select(query)]

    def run(self, run_id: str, among: Set[str] | None = None) -> RunSummary:
        """Return the run with this id or unique prefix of an id. Raises RunNotFound."""
        query = sql.select(*_SUMMARY).where(_within(among))
        rows = self._select(query.where(_runs.c.run_id == run_id))
        if not rows:  # prefixes are tried second, because no index supports them
            rows = self._select(query.where(_runs.c.run_id.startswith(run_id, autoescape=True)).limit(2))
        if not rows:
            raise RunNotFound(f"There is no run {run_id!r}.").with_command("`candor runs` lists the runs.")
        if len(rows) > 1:
            raise RunNotFound(f"Several runs start with {run_id!r}. Use more characters of the id.")
        return _summary(rows[0])

    def continued_by(self, run_id: str) -> list[RunSummary]:
        """Return the runs that continue the conversation of this run, oldest first."""
        query = sql.select(*_SUMMARY).where(_runs.c.continues == run_id).order_by(_runs.c.started_at, _runs.c.run_id)
        return [_summary(row) for row in self._select(query)]

    def answer(self, run_id: str) -> Answer:
        """Return the answer of a finished run. Raises RunNotFound, and RunUnderWay if it has not finished."""
        [row] = self._select(sql.select(_runs).where(_runs.c.run_id == self.run(run_id).run_id))
        if row.answer is None:
            error = RunUnderWay(f"Run {row.run_id!r} has not finished.")
            raise error.with_command(f"`candor trace {row.run_id}` shows its progress.")
        return Answer.model_validate(row.answer)

    def citations(self, document_id: str, run_ids: Sequence[str]) -> dict[str, list[Citation]]:
        """Return the quotes of a document that the answers of these runs cite, by run."""
        query = (
            sql.select(CITATIONS)
            .where(CITATIONS.c.document_id == document_id, CITATIONS.c.run_id.in_(run_ids))
            .order_by(CITATIONS.c.run_id, CITATIONS.c.position)
        )
        found: dict[str, list[Citation]] = {run_id: [] for run_id in run_ids}
        for row in self._select(query):
            found[row.run_id].append(Citation(**{name: row._mapping[name] for name in Citation.model_fields}))
        return found

    def events(self, run_id: str, after: int = 0) -> list[Event]:
        """Return the events of a run with a number above ``after``, in order."""
        query = (
            sql.select(_events.c.event)
            .where(_events.c.run_id == run_id, _events.c.number > after)
            .order_by(_events.c.number)
        )
        return [Event.model_validate(row.event) for row in self._select(query)]

    def started(self, run_id: str) -> RunStarted | None:
        """Return the first event of a run, or None if it has not started or ended before it started."""
        query = sql.select(_events.c.event).where(_events.c.run_id == run_id, _events.c.number == 1)
        for row in self._select(query):
            body = Event.model_validate(row.event).body
            return body if isinstance(body, RunStarted) else None
        return None

    def recent_calls(self, runs: int = 10) -> list[Event]:
        """Return the events about model calls of the latest runs, oldest first."""
        latest = sql.select(_runs.c.run_id).order_by(_runs.c.started_at.desc()).limit(runs).subquery()
        query = (
            sql.select(_events.c.event)
            .where(
                _events.c.run_id.in_(sql.select(latest.c.run_id)),
                _events.c.event["body"]["type"].as_string().in_(("model_asked", "model_called")),
            )
            .order_by(_events.c.event["at"].as_string())
        )
        return [Event.model_validate(row.event) for row in self._select(query)]

    def journal_entries(self, run_id: str) -> list[JournalEntry]:
        """Return the model calls of a run, ordered by the time of their responses."""
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
    """The journal of one run. Implements ``Journal`` of ``multi_agent/llm/wrappers/journal.py``."""

    def __init__(self, engine: sql.Engine, run_id: str) -> None:
        self._engine, self._run_id = engine, run_id

    def find(self, key: str, occurrence: int) -> JournalEntry | None:
        """Return the entry, or None if the request has no response yet."""
        parameters = {"run_id": self._run_id, "key": key, "occurrence": occurrence}
        with self._engine.connect() as connection:
            row = connection.execute(_FIND_ENTRY, parameters).first()
        return JournalEntry.model_validate(row.entry) if row else None

    def record(self, entry: JournalEntry) -> None:
        """Store an entry."""
        row = {
            "run_id": self._run_id,
            "key": entry.key,
            "occurrence": entry.occurrence,
            "recorded_at": entry.recorded_at,
            "entry": entry.model_dump(mode="json"),
        }
        with self._engine.begin() as connection:
            connection.execute(_INSERT_ENTRY, row)


def _within(among: Set[str] | None) -> sql.ColumnElement[bool]:
    return sql.true() if among is None else _runs.c.collection.in_(sorted(among))


def _conditions(wanted: RunFilter) -> Iterator[sql.ColumnElement[bool]]:
    """Yield the conditions of the filter, except ``after``."""
    if wanted.collection is not None:
        yield _runs.c.collection == wanted.collection
    if wanted.status is not None:
        yield _runs.c.status.in_([state.value for state in wanted.status])
    if wanted.text is not None:
        yield _runs.c.question.icontains(wanted.text, autoescape=True)
    if wanted.model is not None:
        yield _runs.c.model == wanted.model
    if wanted.rating is not None:
        yield _runs.c.rating == wanted.rating.value
    if wanted.cites is not None:
        citing = sql.select(CITATIONS.c.run_id).where(CITATIONS.c.document_id == wanted.cites)
        yield _runs.c.run_id.in_(citing)
    if wanted.since is not None:
        yield _runs.c.started_at >= wanted.since.astimezone(UTC)
    if wanted.until is not None:
        yield _runs.c.started_at <= wanted.until.astimezone(UTC)


def _follows(run: RunSummary, sort: RunSort) -> sql.ColumnElement[bool]:
    """Return the condition for runs after this one in the order."""
    at = run.started_at.astimezone(UTC)
    older = sql.or_(_runs.c.started_at < at, sql.and_(_runs.c.started_at == at, _runs.c.run_id > run.run_id))
    if sort is RunSort.CREATED:
        return older
    name = _SORTED_BY[sort]
    figure, last = _FIGURES[name], getattr(run, name)
    if last is None:
        return sql.and_(figure.is_(None), older)
    return sql.or_(figure < last, figure.is_(None), sql.and_(figure == last, older))


def _summary(row: sql.Row[tuple[object, ...]]) -> RunSummary:
    values = dict(row._mapping)
    if values["started_at"].tzinfo is None:  # SQLite drops the time zone (UTC)
        values["started_at"] = values["started_at"].replace(tzinfo=UTC)
    return RunSummary(**values)


def _event_row(event: Event) -> dict[str, object]:
    return {"run_id": event.run_id, "number": event.number, "event": event.model_dump(mode="json")}


def _row(run_id: str, question: str, collection: str, model: str, status: str, continues: str) -> dict[str, object]:
    return {
        "run_id": run_id,
        "collection": collection,
        "question": question,
        "model": model,
        "status": status,
        "started_at": datetime.now(UTC),
        "continues": continues,
    }

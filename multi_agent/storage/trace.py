"""The trace in SQL, with runs, their answers and events, and the journal of their model calls.

Writes are small and run in the event loop in order. On SQLite in WAL mode, a write takes well under a millisecond.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from datetime import UTC, datetime
from textwrap import shorten

import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from base.bin import Kind, kept
from base.database import SqlStore
from base.models import FrozenModel
from multi_agent.errors import RunNotFound, RunUnderWay
from multi_agent.llm.wrappers.journal import Journal, JournalEntry
from multi_agent.llm.wrappers.usage import Meter
from multi_agent.storage.run_filter import ALL_RUNS, Rating, RunFilter, RunSort, RunState
from multi_agent.storage.tables import (
    CITATIONS,
    EVENTS,
    JOURNAL,
    RUNS,
    Citation,
    Environment,
    answer_columns,
    citation_rows,
    event_row,
    find_environment,
    includes,
    journal_row,
    keep_environment,
    other_tokens,
    store_size,
    within,
)
from multi_agent.values.answer import Answer, Status
from multi_agent.values.events import Event, RunFinished, RunStarted, started_in
from multi_agent.values.request import Request

# Compiled once, because building a statement takes longer than executing it.
_INSERT_EVENT, _INSERT_ENTRY = EVENTS.insert(), JOURNAL.insert()
_FIND_ENTRY = sql.select(JOURNAL.c.entry).where(
    JOURNAL.c.run_id == sql.bindparam("run_id"),
    JOURNAL.c.key == sql.bindparam("key"),
    JOURNAL.c.occurrence == sql.bindparam("occurrence"),
)
_SORTED_BY = {
    RunSort.DURATION: RUNS.c.seconds,
    RunSort.TOKENS: RUNS.c.tokens,
    RunSort.COST: RUNS.c.cost,
    RunSort.CONFIDENCE: RUNS.c.confidence,
}
_SHORT = 300  # characters
_SUMMARY = tuple(column for column in RUNS.c if column.name not in ("answer", "environment"))

WAITING = RunState.WAITING.value
RUNNING = RunState.RUNNING.value
INTERRUPTED = RunState.INTERRUPTED.value


class RunSummary(FrozenModel):
    """A run in a list of runs."""

    run_id: str
    collection: str
    question: str
    model: str
    status: str = Field(description="waiting, running, interrupted, or the terminal state")
    started_at: AwareDatetime = Field(description="time of the start; for a waiting run, of its submission")
    key: str = Field(default="", description="id of the API key; empty for a local user without a key")
    continues: str = Field(default="", description="id of the run whose conversation it continues; empty if none")
    forked_from: str = Field(default="", description="id of the run that it repeats with a change; empty if none")
    forked_at: str = Field(default="", description="the step from which on it differs from that run")
    rating: Rating | None = Field(default=None, description="a person's rating of the answer; null if not rated")
    note: str = Field(default="", description="the person's note on the answer")
    seconds: float | None = Field(default=None, description="duration of the run; null until it ends")
    tokens: int | None = Field(default=None, description="tokens of all prompts and responses; null until it ends")
    cost: float | None = Field(default=None, description="cost of the run; null without a price, and until it ends")
    confidence: float | None = Field(default=None, description="confidence of the answer; null without an answer")
    basis: str = Field(
        default="", description="what the answer rests on, in words, and who imported the run; empty without an answer"
    )
    short: str = Field(default="", description="the short answer, if it was asked for; empty without one")
    size: int | None = Field(default=None, description="bytes of the run, as stored; null until it ends")

    @property
    def ended(self) -> bool:
        """Whether the run has reached a terminal state."""
        return not self.active and self.status != INTERRUPTED

    @property
    def active(self) -> bool:
        """Whether the run is waiting or running."""
        return self.status in (WAITING, RUNNING)


class Trace(SqlStore):
    """Runs with their events, journals and answers, in SQL.

    The parameter ``among`` restricts methods to runs over these collections. None means all.

    ``find_interrupted`` yields the runs whose process was killed. They are marked before runs are read.
    """

    def __init__(self, engine: sql.Engine, find_interrupted: Callable[[], Iterable[str]] = tuple) -> None:
        super().__init__(engine)
        self._find_interrupted = find_interrupted

    def create(self, run_id: str, request: Request, collection: str, model: str, key: str = "") -> None:
        """Add a waiting run. A run that exists stays unchanged."""
        row = _row(run_id, request, collection, model, WAITING) | {"key": key}
        with suppress(sql.exc.IntegrityError), self._engine.begin() as connection:  # another process has just added it
            if connection.execute(sql.select(RUNS.c.run_id).where(RUNS.c.run_id == run_id)).first() is None:
                connection.execute(RUNS.insert(), row)

    def start(self, run_id: str, request: Request, collection: str, model: str) -> None:
        """Mark a run as running. A resumed run stays unchanged apart from that."""
        row = _row(run_id, request, collection, model, RUNNING)
        begun = RUNS.update().where(RUNS.c.run_id == run_id, RUNS.c.status.in_((RUNNING, INTERRUPTED)))
        waiting = RUNS.update().where(RUNS.c.run_id == run_id, RUNS.c.status == WAITING)
        with self._engine.begin() as connection:
            resumed = connection.execute(begun, {"status": RUNNING}).rowcount
            if not resumed and not connection.execute(waiting, row).rowcount:
                connection.execute(RUNS.insert(), row)

    def record(self, event: Event) -> None:
        """Store an event."""
        self._execute(_INSERT_EVENT, event_row(event))

    def finish(self, answer: Answer, last: Event) -> None:
        """Store the answer with its citations, and the last event of a run, in one transaction."""
        with self._engine.begin() as connection:
            connection.execute(_INSERT_EVENT, event_row(last))
            connection.execute(RUNS.update().where(RUNS.c.run_id == answer.run_id).values(answer_columns(answer)))
            store_size(connection, answer.run_id)
            connection.execute(sql.delete(CITATIONS).where(CITATIONS.c.run_id == answer.run_id))
            if rows := citation_rows(answer):
                connection.execute(CITATIONS.insert(), rows)

    def rate(self, run_id: str, rating: Rating | None, note: str) -> None:
        """Store a rating of the answer of a run. Replaces an earlier rating. None removes it."""
        values = {"rating": rating and rating.value, "note": note}
        self._execute(RUNS.update().where(RUNS.c.run_id == run_id).values(values))

    def abort(self, run_id: str, status: Status, reason: str) -> Event:
        """End a run that no process works on, and return its last event. Its answer states the reason."""
        run, events, meter = self.run(run_id), self.events(run_id), Meter()
        for event in events:
            meter.count(event)
        answer = Answer(
            run_id=run_id, status=status, mode="", question=run.question, reasoning=reason, usage=meter.usage
        )
        body = RunFinished(status=status.value, reason=reason, usage=meter.usage)
        parent = events[0].number if events else 0
        last = Event(
            run_id=run_id, number=len(events) + 1, at=datetime.now(UTC), level="supervisor", parent=parent, body=body
        )
        self.finish(answer, last)
        return last

    def _mark_interrupted(self) -> None:
        for run_id in self._find_interrupted():
            running = RUNS.update().where(RUNS.c.run_id == run_id, RUNS.c.status == RUNNING)
            self._execute(running, {"status": INTERRUPTED})

    def keep_environment(self, run_id: str, environment: Environment) -> None:
        """Store the environment of a run. A resumed run keeps its first environment."""
        with self._engine.begin() as connection:
            key = keep_environment(connection, environment)
            new = RUNS.update().where(RUNS.c.run_id == run_id, RUNS.c.environment == "")
            connection.execute(new, {"environment": key})

    def environment(self, run_id: str) -> Environment | None:
        """Return the environment in which the run started. None for runs of versions that did not store it."""
        with self._engine.connect() as connection:
            key = connection.scalar(sql.select(RUNS.c.environment).where(RUNS.c.run_id == run_id))
            return find_environment(connection, key or "")

    def journal(self, run_id: str) -> Journal:
        """Return the journal of a run."""
        return SqlJournal(self._engine, run_id)

    def runs(self, limit: int = 50, wanted: RunFilter = ALL_RUNS, *, among: Set[str] | None = None) -> list[RunSummary]:
        """Return the first matching runs in the requested order.

        Raises RunNotFound if the run ``wanted.after`` does not exist.
        """
        self._mark_interrupted()
        columns = (*_SUMMARY, RUNS.c.answer) if wanted.with_answers else _SUMMARY
        query = sql.select(*columns).where(_within(among), *_conditions(wanted))
        if wanted.after is not None:
            query = query.where(_follows(self.run(wanted.after, among), wanted.sort))
        figure = [_SORTED_BY[wanted.sort].desc().nulls_last()] if wanted.sort in _SORTED_BY else []
        query = query.order_by(*figure, RUNS.c.started_at.desc(), RUNS.c.run_id).limit(limit)
        return [_summary(row) for row in self._select(query)]

    def counts(self) -> dict[RunState, int]:
        """Return the number of runs in each state."""
        self._mark_interrupted()
        counted = sql.select(RUNS.c.status, sql.func.count().label("runs")).where(_within(None))
        rows = self._select(counted.group_by(RUNS.c.status))
        return {RunState(row.status): row.runs for row in rows}

    def tokens_since(self, key: str, since: datetime) -> int:
        """Return the tokens of all model calls since then for an API key, in its runs and outside of them."""
        query = (
            sql.select(
                (sql.func.coalesce(sql.func.sum(JOURNAL.c.tokens), 0) + other_tokens(key, since)).label("tokens")
            )
            .select_from(JOURNAL.join(RUNS))
            .where(RUNS.c.key == key, JOURNAL.c.recorded_at >= since)
        )
        [row] = self._select(query)
        return int(row.tokens)

    def unfinished(self) -> list[RunSummary]:
        """Return all runs that have not reached a terminal state."""
        query = sql.select(*_SUMMARY).where(RUNS.c.status.in_((WAITING, RUNNING)))
        return [_summary(row) for row in self._select(query)]

    def run(self, run_id: str, among: Set[str] | None = None) -> RunSummary:
        """Return the run with this id or unique prefix of an id. Raises RunNotFound."""
        self._mark_interrupted()
        query = sql.select(*_SUMMARY).where(_within(among))
        rows = self._select(query.where(RUNS.c.run_id == run_id))
        if not rows:  # prefixes are tried second, because no index supports them
            rows = self._select(query.where(RUNS.c.run_id.startswith(run_id, autoescape=True)).limit(2))
        if not rows:
            raise RunNotFound(f"There is no run {run_id!r}.").with_command("`candor runs` lists the runs.")
        if len(rows) > 1:
            raise RunNotFound(f"Several runs start with {run_id!r}. Use more characters of the id.")
        return _summary(rows[0])

    def continued_by(self, run_id: str) -> list[RunSummary]:
        """Return the runs that continue the conversation of this run, oldest first."""
        query = (
            sql.select(*_SUMMARY)
            .where(_within(None), RUNS.c.continues == run_id)
            .order_by(RUNS.c.started_at, RUNS.c.run_id)
        )
        return [_summary(row) for row in self._select(query)]

    def answer(self, run_id: str) -> Answer:
        """Return the answer of a finished run. Raises RunNotFound, and RunUnderWay if it has not finished."""
        [row] = self._select(sql.select(RUNS).where(RUNS.c.run_id == self.run(run_id).run_id))
        if row.answer is None:
            if row.status == INTERRUPTED:
                error = RunUnderWay(f"Run {row.run_id!r} was interrupted.")
                raise error.with_command(f"`candor runs resume {row.run_id}` continues it.")
            error = RunUnderWay(f"Run {row.run_id!r} has not finished.")
            raise error.with_command(f"`candor trace {row.run_id}` shows its progress.")
        return Answer.model_validate(row.answer)

    def ended_answer(self, run_id: str) -> Answer | None:
        """Return the answer of a run with exactly this id. None if there is no such run, or if it has not ended."""
        rows = self._select(sql.select(RUNS.c.answer).where(RUNS.c.run_id == run_id))
        return Answer.model_validate(rows[0].answer) if rows and rows[0].answer is not None else None

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
            sql.select(EVENTS.c.event)
            .where(EVENTS.c.run_id == run_id, EVENTS.c.number > after)
            .order_by(EVENTS.c.number)
        )
        return [Event.model_validate(row.event) for row in self._select(query)]

    def started(self, run_id: str) -> RunStarted | None:
        """Return the first event of a run, or None if it has not started or ended before it started."""
        query = sql.select(EVENTS.c.event).where(EVENTS.c.run_id == run_id, EVENTS.c.number == 1)
        return started_in(Event.model_validate(row.event) for row in self._select(query))

    def recent_calls(self, runs: int = 10) -> list[Event]:
        """Return the events about model calls of the latest runs, oldest first."""
        latest = sql.select(RUNS.c.run_id).order_by(RUNS.c.started_at.desc()).limit(runs).subquery()
        query = sql.select(EVENTS.c.event).where(
            EVENTS.c.run_id.in_(sql.select(latest.c.run_id)), EVENTS.c.type.in_(("model_asked", "model_called"))
        )
        events = [Event.model_validate(row.event) for row in self._select(query)]
        return sorted(events, key=lambda event: event.at.timestamp())

    def journal_entries(self, run_id: str) -> list[JournalEntry]:
        """Return the model calls of a run, ordered by the time of their responses."""
        query = (
            sql.select(JOURNAL.c.entry)
            .where(JOURNAL.c.run_id == run_id)
            .order_by(JOURNAL.c.recorded_at, JOURNAL.c.key, JOURNAL.c.occurrence)
        )
        return [JournalEntry.model_validate(row.entry) for row in self._select(query)]


class SqlJournal(SqlStore):
    """The journal of one run. Implements ``Journal`` of ``multi_agent/llm/wrappers/journal.py``."""

    def __init__(self, engine: sql.Engine, run_id: str) -> None:
        super().__init__(engine)
        self._run_id = run_id

    def find(self, key: str, occurrence: int) -> JournalEntry | None:
        """Return the entry, or None if the request has no response yet."""
        parameters = {"run_id": self._run_id, "key": key, "occurrence": occurrence}
        found = self._select(_FIND_ENTRY, parameters)
        return JournalEntry.model_validate(found[0].entry) if found else None

    def earlier(self, key: str) -> JournalEntry | None:
        """Return the first response to this request in another run over the collection. None if no run has one."""
        own = sql.select(RUNS.c.collection).where(RUNS.c.run_id == self._run_id).scalar_subquery()
        runs = sql.select(RUNS.c.run_id).where(RUNS.c.collection == own)  # no join: SQLite would read all journals
        wanted = JOURNAL.c.run_id.in_(runs), JOURNAL.c.key == key, JOURNAL.c.occurrence == 0
        found = self._select(sql.select(JOURNAL.c.entry).where(*wanted).limit(1))
        return JournalEntry.model_validate(found[0].entry) if found else None

    def record(self, entry: JournalEntry) -> None:
        """Store an entry."""
        self._execute(_INSERT_ENTRY, journal_row(self._run_id, entry))


def _within(among: Set[str] | None) -> sql.ColumnElement[bool]:
    return sql.and_(within(RUNS.c.collection, among), kept(Kind.RUN, RUNS.c.run_id))


def _conditions(wanted: RunFilter) -> Iterator[sql.ColumnElement[bool]]:
    """Yield the conditions of the filter, except ``after``."""
    if wanted.collection is not None:
        yield includes(RUNS.c.collection, wanted.collection)
    if wanted.status is not None:
        yield RUNS.c.status.in_([state.value for state in wanted.status])
    if wanted.text is not None:
        yield RUNS.c.question.icontains(wanted.text, autoescape=True)
    if wanted.model is not None:
        yield RUNS.c.model == wanted.model
    if wanted.rating is not None:
        yield RUNS.c.rating == wanted.rating.value
    if wanted.cites is not None:
        citing = sql.select(CITATIONS.c.run_id).where(CITATIONS.c.document_id == wanted.cites)
        yield RUNS.c.run_id.in_(citing)
    if wanted.since is not None:
        yield RUNS.c.started_at >= wanted.since
    if wanted.until is not None:
        yield RUNS.c.started_at <= wanted.until


def _follows(run: RunSummary, sort: RunSort) -> sql.ColumnElement[bool]:
    """Return the condition for runs after this one in the order."""
    at = run.started_at.astimezone(UTC)
    older = sql.or_(RUNS.c.started_at < at, sql.and_(RUNS.c.started_at == at, RUNS.c.run_id > run.run_id))
    if sort is RunSort.CREATED:
        return older
    figure = _SORTED_BY[sort]
    last = getattr(run, figure.name)
    if last is None:
        return sql.and_(figure.is_(None), older)
    return sql.or_(figure < last, figure.is_(None), sql.and_(figure == last, older))


def _summary(row: sql.Row[tuple[object, ...]]) -> RunSummary:
    values = dict(row._mapping)
    if values["started_at"].tzinfo is None:  # SQLite drops the time zone (UTC)
        values["started_at"] = values["started_at"].replace(tzinfo=UTC)
    answer = values.pop("answer", None) or {}
    return RunSummary(**values, short=shorten(answer.get("short") or answer.get("answer", ""), _SHORT))


def _row(run_id: str, request: Request, collection: str, model: str, status: str) -> dict[str, object]:
    fork = request.fork
    return {
        "run_id": run_id,
        "collection": collection,
        "question": request.question,
        "model": model,
        "status": status,
        "started_at": datetime.now(UTC),
        "continues": request.continues,
        "forked_from": fork.run_id if fork else "",
        "forked_at": fork.step if fork else "",
    }

"""The tables of runs: their events, journals, tool calls, citations and environments. ``trace.py`` uses them.

Some columns contain compressed JSON. A query cannot read inside it, so what queries need is in columns of its own. The
column with a selection of collections, such as ``mail+papers``, has conditions of its own. The size of a run is the
sum of its bytes, as stored.

A replay compares the environment of a run with the current one to find the cause of a difference.
"""

import hashlib
import json
import zlib
from collections.abc import Set
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sql
from pydantic import Field, JsonValue

from base.database import METADATA, SqlStore
from base.models import FrozenModel
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.model import Usage
from multi_agent.values.answer import Answer, Quote
from multi_agent.values.events import Event
from vectorstore.models import SEPARATOR


class CompressedJSON(sql.TypeDecorator[Any]):
    """A JSON value, stored as zlib-compressed UTF-8. None is NULL."""

    impl = sql.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sql.Dialect) -> bytes | None:
        """Compress a value. It may contain lone surrogates, because models return them."""
        if value is None:
            return None
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return zlib.compress(text.encode("utf-8", "surrogatepass"))

    def process_result_value(self, value: bytes | None, dialect: sql.Dialect) -> Any:
        """Decompress a value."""
        return None if value is None else json.loads(zlib.decompress(value).decode("utf-8", "surrogatepass"))


SELECTION = sql.String(64).with_variant(sql.Text(), "postgresql")
"""The type of a column with a selection of collections. SQLite stores texts of any length, whatever their type."""


def within(selection: sql.ColumnElement[Any], among: Set[str] | None) -> sql.ColumnElement[bool]:
    """Return the condition that all collections of a selection are among these. None means all."""
    if among is None:
        return sql.true()
    others: sql.ColumnElement[Any] = SEPARATOR + selection + SEPARATOR
    for name in sorted(among):
        others = sql.func.replace(others, f"{SEPARATOR}{name}{SEPARATOR}", SEPARATOR)
    return sql.or_(selection.in_(sorted(among)), sql.and_(selection.contains(SEPARATOR), others == SEPARATOR))


def includes(selection: sql.ColumnElement[Any], wanted: str) -> sql.ColumnElement[bool]:
    """Return the condition that a selection is the wanted one, or contains the wanted collection."""
    padded = SEPARATOR + selection + SEPARATOR
    return sql.or_(selection == wanted, padded.contains(f"{SEPARATOR}{wanted}{SEPARATOR}", autoescape=True))


# The compressed column is the last one, because SQLite reads a long value to reach the columns after it.
RUNS = sql.Table(
    "runs",
    METADATA,
    sql.Column("run_id", sql.String(64), primary_key=True),
    sql.Column("collection", SELECTION, nullable=False),
    sql.Column("question", sql.Text, nullable=False),
    sql.Column("model", sql.String(200), nullable=False),
    sql.Column("status", sql.String(20), nullable=False),
    sql.Column("started_at", sql.DateTime(timezone=True), nullable=False, index=True),
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
    sql.Column("basis", sql.Text, nullable=False, server_default=""),
    sql.Column("size", sql.BigInteger, nullable=True),
    sql.Column("answer", CompressedJSON, nullable=True),
)

EVENTS = sql.Table(
    "events",
    METADATA,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("type", sql.String(40), nullable=False),
    sql.Column("event", CompressedJSON, nullable=False),
)

JOURNAL = sql.Table(
    "journal",
    METADATA,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("key", sql.String(64), primary_key=True),
    sql.Column("occurrence", sql.Integer, primary_key=True),
    sql.Column("recorded_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("tokens", sql.Integer, nullable=False),
    sql.Column("entry", CompressedJSON, nullable=False),
)


def answer_columns(answer: Answer) -> dict[str, object]:
    """Return the columns of a run that its answer sets. The size is set after its last event is stored."""
    usage = answer.usage
    return {
        "status": answer.status.value,
        "answer": answer.model_dump(mode="json"),
        "seconds": usage.seconds,
        "tokens": usage.prompt_tokens + usage.completion_tokens,
        "cost": usage.cost or None,  # 0 means that no price is set
        "confidence": answer.confidence if answer.answer else None,
        "basis": answer.basis if answer.answer else "",
    }


def event_row(event: Event) -> dict[str, object]:
    """Return the row of an event."""
    content = event.model_dump(mode="json")
    return {"run_id": event.run_id, "number": event.number, "type": event.body.type, "event": content}


def journal_row(run_id: str, entry: JournalEntry) -> dict[str, object]:
    """Return the row of a model call."""
    return {
        "run_id": run_id,
        "key": entry.key,
        "occurrence": entry.occurrence,
        "recorded_at": entry.recorded_at.astimezone(UTC),  # SQLite drops the time zone
        "tokens": entry.usage.prompt_tokens + entry.usage.completion_tokens,
        "entry": entry.model_dump(mode="json"),
    }


CALLS = sql.Table(
    "tool_calls",
    METADATA,
    sql.Column("run_id", sql.String(64), primary_key=True),
    sql.Column("key", sql.String(64), primary_key=True),
    sql.Column("occurrence", sql.Integer, primary_key=True),
    sql.Column("began_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("entry", CompressedJSON, nullable=False),
)

CITATIONS = sql.Table(
    "citations",
    METADATA,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("document_id", sql.String(64), nullable=False, index=True),
    sql.Column("number", sql.Integer, nullable=True),
    sql.Column("pages", sql.JSON, nullable=False),
    sql.Column("start", sql.Integer, nullable=False),
    sql.Column("end", sql.Integer, nullable=False),
    sql.Column("quote", sql.Text, nullable=False),
)


class Citation(FrozenModel):
    """A quote of a document in an answer."""

    number: int | None = Field(description="Number of the evidence in the answer. Null for a record of a computation.")
    pages: tuple[int, ...]
    start: int
    end: int
    quote: str


def citation_rows(answer: Answer) -> list[dict[str, object]]:
    """Return the rows of the quotes that an answer cites directly or through its computations."""
    quotes: list[tuple[int | None, Quote]] = [(quote.number, quote) for quote in answer.cited]
    quotes += [(None, quote) for computed in answer.computations for quote in computed.evidence]
    return [
        {"run_id": answer.run_id, "position": position, "number": number, "document_id": quote.document_id}
        | quote.model_dump(include={"pages", "start", "end", "quote"})
        for position, (number, quote) in enumerate(quotes)
        if quote.origin is None
    ]


_other_calls = sql.Table(
    "other_calls",
    METADATA,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("key", sql.String(64), nullable=False, index=True),
    sql.Column("recorded_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("tokens", sql.Integer, nullable=False),
)


class OtherCalls(SqlStore):
    """The table of model calls outside of runs. All methods block."""

    def add(self, key: str, usage: Usage) -> None:
        """Record the usage of a model call for an API key."""
        row = {"key": key, "recorded_at": datetime.now(UTC), "tokens": usage.prompt_tokens + usage.completion_tokens}
        self._execute(_other_calls.insert().values(row))


def other_tokens(key: str, since: datetime) -> sql.ScalarSelect[int]:
    """Return a subquery with the number of tokens that an API key has used since then."""
    total = sql.func.coalesce(sql.func.sum(_other_calls.c.tokens), 0)
    return sql.select(total).where(_other_calls.c.key == key, _other_calls.c.recorded_at >= since).scalar_subquery()


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


_environments = sql.Table(
    "environments",
    METADATA,
    sql.Column("id", sql.String(64), primary_key=True),
    sql.Column("content", sql.LargeBinary, nullable=False),
)


class DocumentVersion(FrozenModel):
    """A version of a document."""

    name: str
    version: str = Field(description="hash of its content")


class Environment(FrozenModel):
    """The state of everything that a run reads, apart from model responses and tool results."""

    candor: str = Field(description="version of Candor")
    prompts: dict[str, str] = Field(description="hash of each prompt, by the path of its file or the name of its agent")
    settings: dict[str, JsonValue] = Field(description="the settings below `research`")
    index: dict[str, str] = Field(description="settings of searches: embedding model, chunking, reranker")
    documents: dict[str, DocumentVersion] = Field(description="the documents that the run could read, by id")


def keep_environment(connection: sql.Connection, environment: Environment) -> str:
    """Store an environment and return its id. Equal environments are stored only once."""
    content = environment.model_dump_json().encode()
    key = hashlib.sha256(content).hexdigest()
    if connection.scalar(sql.select(_environments.c.id).where(_environments.c.id == key)) is None:
        connection.execute(_insert(connection), {"id": key, "content": zlib.compress(content)})
    return key


def find_environment(connection: sql.Connection, key: str) -> Environment | None:
    """Return the environment with this id, or None if there is none."""
    content = connection.scalar(sql.select(_environments.c.content).where(_environments.c.id == key))
    return Environment.model_validate_json(zlib.decompress(content)) if content else None


def forget_unused(connection: sql.Connection, used: sql.Select[tuple[str]]) -> None:
    """Delete the environments whose ids are not in ``used``."""
    connection.execute(_environments.delete().where(_environments.c.id.not_in(used)))


def _insert(connection: sql.Connection) -> sql.Executable:
    """Return an insert that ignores existing rows, because two runs may store the same environment concurrently."""
    from sqlalchemy.dialects import postgresql, sqlite  # importing both takes a tenth of the start of a command

    if connection.dialect.name == "postgresql":
        return postgresql.insert(_environments).on_conflict_do_nothing()
    return sqlite.insert(_environments).on_conflict_do_nothing()

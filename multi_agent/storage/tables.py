"""The tables of runs, their events and their journals. ``trace.py`` reads and writes them."""

from __future__ import annotations

from datetime import UTC

import sqlalchemy as sql

from base.database import METADATA
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.storage.compressed import CompressedJSON
from multi_agent.storage.selections import SELECTION
from multi_agent.values.answer import Answer
from multi_agent.values.events import Event

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

EVENTS_CHANNEL = "candor_events"
"""The channel of Postgres on which the trace notifies other processes of new events."""

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
        "basis": answer.basis if answer.answer or answer.imported else "",
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

"""The tables of runs, their events and their journals. ``trace.py`` reads and writes them."""

from __future__ import annotations

import sqlalchemy as sql

from vectorstore.database import METADATA

RUNS = sql.Table(
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
    sql.Column("environment", sql.String(64), nullable=False, server_default=""),
    sql.Column("forked_from", sql.String(64), nullable=False, server_default="", index=True),
    sql.Column("forked_at", sql.String(64), nullable=False, server_default=""),
)

EVENTS_CHANNEL = "candor_events"
"""The channel of Postgres on which the trace notifies other processes of new events."""

EVENTS = sql.Table(
    "events",
    METADATA,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("event", sql.JSON, nullable=False),
)

JOURNAL = sql.Table(
    "journal",
    METADATA,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("key", sql.String(64), primary_key=True),
    sql.Column("occurrence", sql.Integer, primary_key=True),
    sql.Column("recorded_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("entry", sql.JSON, nullable=False),
)

"""Stores the tokens of model calls outside of runs by API key. The journal has the tokens of calls in runs."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sql

from base.database import METADATA, SqlStore
from multi_agent.model import Usage

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
        row = {
            "key": key,
            "recorded_at": datetime.now(UTC),
            "tokens": usage.prompt_tokens + usage.completion_tokens,
        }
        with self._engine.begin() as connection:
            connection.execute(_other_calls.insert().values(row))


def other_tokens(key: str, since: datetime) -> sql.ScalarSelect[int]:
    """Return a subquery with the number of tokens that an API key has used since then."""
    total = sql.func.coalesce(sql.func.sum(_other_calls.c.tokens), 0)
    return sql.select(total).where(_other_calls.c.key == key, _other_calls.c.recorded_at >= since).scalar_subquery()

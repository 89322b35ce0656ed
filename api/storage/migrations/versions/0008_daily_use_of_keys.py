"""Add the daily upload limit of API keys, and the tokens that keys use outside of runs."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("keys", sql.Column("upload_bytes_per_day", sql.BigInteger, nullable=True))
    op.add_column("keys", sql.Column("uploaded", sql.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "other_calls",
        sql.Column("id", sql.Integer, primary_key=True),
        sql.Column("key", sql.String(64), nullable=False),
        sql.Column("recorded_at", sql.DateTime(timezone=True), nullable=False),
        sql.Column("tokens", sql.Integer, nullable=False),
    )
    op.create_index("ix_other_calls_key", "other_calls", ["key"])

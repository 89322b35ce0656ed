"""Add the processes that share the jobs of a database, and the progress and cancellation of their active jobs."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "processes",
        sql.Column("id", sql.String(64), primary_key=True),
        sql.Column("host", sql.Text, nullable=False),
        sql.Column("process", sql.BigInteger, nullable=False),
        sql.Column("process_started", sql.Float, nullable=False),
        sql.Column("queues", sql.JSON, nullable=False),
        sql.Column("takeover_s", sql.Float, nullable=False),
        sql.Column("started_at", sql.DateTime(timezone=True), nullable=False),
        sql.Column("seen_at", sql.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "active_jobs",
        sql.Column("job_id", sql.String(64), primary_key=True),
        sql.Column("process_id", sql.String(64), nullable=False, server_default=""),
        sql.Column("started", sql.Boolean, nullable=False, server_default=sql.false()),
        sql.Column("progress", sql.JSON, nullable=True),
        sql.Column("cancelled", sql.Boolean, nullable=False, server_default=sql.false()),
    )

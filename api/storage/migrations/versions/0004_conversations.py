"""Add the run that a run continues, and the suggested questions of collections."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("runs", sql.Column("continues", sql.String(64), nullable=False, server_default=""))
    op.create_index("ix_runs_continues", "runs", ["continues"])
    op.create_table(
        "suggested_questions",
        sql.Column("collection", sql.String(64), primary_key=True),
        sql.Column("suggestion", sql.JSON, nullable=False),
    )

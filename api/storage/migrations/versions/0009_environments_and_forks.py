"""Add the environments of runs for replays, and the original runs of forks."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "environments",
        sql.Column("id", sql.String(64), primary_key=True),
        sql.Column("content", sql.LargeBinary, nullable=False),
    )
    for name in ("environment", "forked_from", "forked_at"):
        op.add_column("runs", sql.Column(name, sql.String(64), nullable=False, server_default=""))
    op.create_index("ix_runs_forked_from", "runs", ["forked_from"])

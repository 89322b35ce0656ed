"""Add the run that a run continues."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("runs", sql.Column("continues", sql.String(64), nullable=False, server_default=""))
    op.create_index("ix_runs_continues", "runs", ["continues"])

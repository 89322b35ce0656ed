"""Let every process say what its jobs wait for, such as the ingest of a command."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("active_jobs", sql.Column("waits_for", sql.Text, nullable=True))

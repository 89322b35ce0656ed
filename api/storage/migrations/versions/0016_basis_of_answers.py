"""Add to each run what its answer rests on, in words, for lists of runs."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("runs", sql.Column("basis", sql.Text, nullable=False, server_default=""))

"""Add ratings of the answers of runs."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("runs", sql.Column("rating", sql.String(4), nullable=True))
    op.add_column("runs", sql.Column("note", sql.Text, nullable=False, server_default=""))

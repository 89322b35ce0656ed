"""Keys that share one run as a page."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.add_column("keys", sql.Column("run_id", sql.String(64), nullable=True))

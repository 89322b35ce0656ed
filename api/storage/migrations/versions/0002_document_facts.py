"""Add the facts of documents."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("documents", sql.Column("facts", sql.JSON, nullable=False, server_default="{}"))

"""Let runs, plans and memories name several collections, whose joined names are longer than 64 characters."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":  # SQLite stores texts of any length
        for table in ("runs", "plans", "memories"):
            op.alter_column(table, "collection", type_=sql.Text, existing_type=sql.String(64))

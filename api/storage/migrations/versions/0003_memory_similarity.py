"""Add the collection of a memory, and the similarity scales of embedding models."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("memories", sql.Column("collection", sql.String(64), nullable=False, server_default=""))
    op.create_table(
        "similarity_scales",
        sql.Column("embedding_model", sql.String(200), primary_key=True),
        sql.Column("ceiling", sql.Float, nullable=False),
    )

"""Add the tags of documents."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "document_tags",
        sql.Column("collection", sql.String(64), primary_key=True),
        sql.Column("id", sql.String(36), primary_key=True),
        sql.Column("tag", sql.String(64), primary_key=True),
    )

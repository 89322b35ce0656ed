"""Add an id of the database, which owns collections on a vector store server."""

from __future__ import annotations

from uuid import uuid4

import sqlalchemy as sql
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    identity = op.create_table("database_identity", sql.Column("id", sql.String(36), primary_key=True))
    op.bulk_insert(identity, [{"id": str(uuid4())}])

"""Add the bin."""

from __future__ import annotations

from alembic import op

from api.storage.upgrade import complete_schema

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    complete_schema(op.get_bind())

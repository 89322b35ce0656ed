"""Add the origins of keys."""

from __future__ import annotations

from alembic import op

from api.storage.upgrade import complete_schema

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    complete_schema(op.get_bind())

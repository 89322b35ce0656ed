"""Add users, their groups, sessions and sign-ins, and the users of API keys."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("keys", sql.Column("user_id", sql.String(12), nullable=True))
    op.create_table(
        "users",
        sql.Column("id", sql.String(12), primary_key=True),
        sql.Column("name", sql.String(100), nullable=False),
        sql.Column("login", sql.String(400), nullable=False, unique=True),
        sql.Column("email", sql.String(254), nullable=True, unique=True),
        sql.Column("subject", sql.String(600), nullable=True, unique=True),
        sql.Column("rights", sql.JSON, nullable=False),
        sql.Column("groups", sql.JSON, nullable=False),
        sql.Column("password_hash", sql.String(200), nullable=True),
        sql.Column("disabled", sql.Boolean, nullable=False),
    )
    rights = sql.Column("rights", sql.JSON, nullable=False)
    op.create_table("user_groups", sql.Column("name", sql.String(100), primary_key=True), rights)
    op.create_table(
        "user_tokens",
        sql.Column("token_hash", sql.String(64), primary_key=True),
        sql.Column("user_id", sql.String(12), nullable=False, index=True),
        sql.Column("kind", sql.String(20), nullable=False),
        sql.Column("expires_at", sql.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "sign_in_attempts",
        sql.Column("id", sql.Integer, primary_key=True),
        sql.Column("name", sql.String(64), nullable=False, index=True),
        sql.Column("address", sql.String(100), nullable=False, index=True),
        sql.Column("at", sql.DateTime(timezone=True), nullable=False),
    )

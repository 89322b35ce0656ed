"""Add the fields that people give documents."""

import sqlalchemy as sql
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "document_fields",
        sql.Column("collection", sql.String(64), primary_key=True),
        sql.Column("id", sql.String(36), primary_key=True),
        sql.Column("source", sql.Integer, primary_key=True),
        sql.Column("fields", sql.JSON, nullable=False),
    )

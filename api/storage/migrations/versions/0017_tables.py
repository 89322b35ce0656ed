"""Add the SQL tables of tables over documents, and of their cells."""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "document_tables",
        sql.Column("name", sql.String(64), primary_key=True),
        sql.Column("collection", sql.Text, nullable=False),
        sql.Column("created_at", sql.DateTime(timezone=True), nullable=False),
        sql.Column("spec", sql.JSON, nullable=False),
    )
    op.create_table(
        "document_table_cells",
        sql.Column("table_name", sql.String(64), sql.ForeignKey("document_tables.name"), primary_key=True),
        sql.Column("document_id", sql.Text, primary_key=True),
        sql.Column("column_name", sql.Text, primary_key=True),
        sql.Column("cell", sql.JSON, nullable=False),
    )

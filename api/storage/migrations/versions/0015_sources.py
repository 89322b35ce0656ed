"""Store the sources of collections."""

import sqlalchemy as sql
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "sources",
        sql.Column("collection", sql.String(64), primary_key=True),
        sql.Column("name", sql.String(64), primary_key=True),
        sql.Column("address", sql.Text, nullable=False),
        sql.Column("options", sql.JSON, nullable=False),
        sql.Column("exclude", sql.JSON, nullable=False),
        sql.Column("include", sql.JSON, nullable=False),
        sql.Column("synced_at", sql.DateTime(timezone=True), nullable=True),
        sql.Column("documents", sql.Integer, nullable=False),
        sql.Column("error", sql.Text, nullable=False),
    )

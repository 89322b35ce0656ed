"""Add how often a service syncs a source."""

import sqlalchemy as sql
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("sources", sql.Column("every", sql.String(8), nullable=False, server_default=""))

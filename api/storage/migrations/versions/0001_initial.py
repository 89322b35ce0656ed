"""Create the tables, and upgrade databases written before Candor used Alembic.

Those databases have no ``alembic_version``. Each store created its tables on first use, so any subset of the tables may
exist, and some of them without the columns that were added later.
"""

from __future__ import annotations

import sqlalchemy as sql
from alembic import op
from sqlalchemy.schema import CreateColumn

revision = "0001"
down_revision = None

TABLES = sql.MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "ix": "ix_%(column_0_label)s",
    }
)
OBSOLETE = "service_runs"  # process ids of active runs; jobs replaced it

TIME = sql.DateTime(timezone=True)


def upgrade() -> None:
    """Create missing tables, columns and indexes, and drop the obsolete table."""
    connection = op.get_bind()
    existing = set(sql.inspect(connection).get_table_names())
    for table in TABLES.sorted_tables:
        if table.name in existing:
            _complete(connection, table)
        else:
            table.create(connection)
    if OBSOLETE in existing:
        op.drop_table(OBSOLETE)


def _complete(connection: sql.Connection, table: sql.Table) -> None:
    """Add the columns and indexes that the table lacks. Columns that were added later have a server default."""
    inspector = sql.inspect(connection)
    columns = {column["name"] for column in inspector.get_columns(table.name)}
    indexes = {index["name"] for index in inspector.get_indexes(table.name)}
    for column in table.columns:
        if column.name not in columns:
            definition = CreateColumn(column).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")
    for index in table.indexes:
        if index.name not in indexes:
            index.create(connection)


sql.Table(
    "documents",
    TABLES,
    sql.Column("collection", sql.String(64), primary_key=True),
    sql.Column("id", sql.String(36), primary_key=True),
    sql.Column("path", sql.Text, nullable=False),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("state", sql.String(16), nullable=False),
    sql.Column("stage", sql.String(16), nullable=False),
    sql.Column("reason", sql.Text, nullable=False),
    sql.Column("version", sql.String(64), nullable=False),
    sql.Column("size", sql.BigInteger, nullable=False),
    sql.Column("modified", sql.Float, nullable=False),
    sql.Column("mime_type", sql.String(255), nullable=False),
    sql.Column("title", sql.Text, nullable=False),
    sql.Column("pages", sql.Integer, nullable=False),
    sql.Column("chunks", sql.Integer, nullable=False),
    sql.Column("tokens", sql.Integer, nullable=False),
    sql.Column("parser", sql.String(255), nullable=False),
    sql.Column("chunking", sql.String(255), nullable=False),
    sql.Column("seconds", sql.JSON, nullable=False),
    sql.Column("warnings", sql.JSON, nullable=False),
    sql.Column("metadata", sql.JSON, nullable=False),
    sql.Column("updated_at", TIME, nullable=False),
    sql.Column("attempts", sql.Integer, nullable=False, server_default="0"),
    sql.Column("container", sql.Text, nullable=False, server_default=""),
    sql.Column("read_at", sql.Float, nullable=False, server_default="0"),
)

sql.Table(
    "document_texts",
    TABLES,
    sql.Column("collection", sql.String(64), primary_key=True),
    sql.Column("id", sql.String(36), primary_key=True),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("blocks", sql.JSON, nullable=False),
    sql.Column("pages", sql.JSON, nullable=False),
)

sql.Table(
    "hidden_editions",
    TABLES,
    sql.Column("collection", sql.String(64), primary_key=True),
    sql.Column("edition", sql.String(16), primary_key=True),
    sql.Column("document", sql.String(36), nullable=False),
)

sql.Table(
    "edition_changes",
    TABLES,
    sql.Column("collection", sql.String(64), primary_key=True),
    sql.Column("number", sql.BigInteger, nullable=False),
)

sql.Table(
    "embedded_passages",
    TABLES,
    sql.Column("collection", sql.String(64), primary_key=True),
    sql.Column("digest", sql.String(64), primary_key=True),
    sql.Column("chunk", sql.String(36), nullable=False),
)

sql.Table(
    "collection_places",
    TABLES,
    sql.Column("place", sql.String(80), primary_key=True),
    sql.Column("collection", sql.String(64), nullable=False),
    sql.Column("role", sql.String(16), nullable=False),
)

sql.Table(
    "ingests_under_way",
    TABLES,
    sql.Column("collection", sql.String(64), primary_key=True),
    sql.Column("holder", sql.String(36), nullable=False),
    sql.Column("host", sql.Text, nullable=False),
    sql.Column("process", sql.BigInteger, nullable=False),
    sql.Column("process_started", sql.Float, nullable=False),
    sql.Column("since", sql.Float, nullable=False),
    sql.Column("alive_at", sql.Float, nullable=False),
)

sql.Table(
    "runs",
    TABLES,
    sql.Column("run_id", sql.String(64), primary_key=True),
    sql.Column("collection", sql.String(64), nullable=False),
    sql.Column("question", sql.Text, nullable=False),
    sql.Column("model", sql.String(200), nullable=False),
    sql.Column("status", sql.String(20), nullable=False),
    sql.Column("started_at", TIME, nullable=False, index=True),
    sql.Column("answer", sql.JSON, nullable=True),
    sql.Column("key", sql.String(64), nullable=False, server_default="", index=True),
)

sql.Table(
    "events",
    TABLES,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("event", sql.JSON, nullable=False),
)

sql.Table(
    "journal",
    TABLES,
    sql.Column("run_id", sql.String(64), sql.ForeignKey("runs.run_id"), primary_key=True),
    sql.Column("key", sql.String(64), primary_key=True),
    sql.Column("occurrence", sql.Integer, primary_key=True),
    sql.Column("recorded_at", TIME, nullable=False),
    sql.Column("entry", sql.JSON, nullable=False),
)

sql.Table(
    "tool_calls",
    TABLES,
    sql.Column("run_id", sql.String(64), primary_key=True),
    sql.Column("key", sql.String(64), primary_key=True),
    sql.Column("occurrence", sql.Integer, primary_key=True),
    sql.Column("began_at", TIME, nullable=False),
    sql.Column("entry", sql.JSON, nullable=False),
)

sql.Table(
    "approvals",
    TABLES,
    sql.Column("approval_id", sql.String(160), primary_key=True),
    sql.Column("run_id", sql.String(64), nullable=False, index=True),
    sql.Column("status", sql.String(20), nullable=False, index=True),
    sql.Column("asked_at", TIME, nullable=False),
    sql.Column("approval", sql.JSON, nullable=False),
)

sql.Table(
    "plans",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.String(100), nullable=True, unique=True),
    sql.Column("question", sql.Text, nullable=False),
    sql.Column("plan", sql.JSON, nullable=False),
    sql.Column("shape", sql.String(64), nullable=False, index=True),
    sql.Column("embedding_model", sql.String(200), nullable=False),
    sql.Column("vector", sql.LargeBinary, nullable=False),
    sql.Column("saved_at", TIME, nullable=False),
    sql.Column("collection", sql.String(64), nullable=False, server_default=""),
)

sql.Table(
    "memories",
    TABLES,
    sql.Column("id", sql.String(80), primary_key=True),
    sql.Column("kind", sql.String(20), nullable=False, index=True),
    sql.Column("key", sql.String(64), nullable=False, index=True),
    sql.Column("session", sql.String(100), nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("answer", sql.Text, nullable=False),
    sql.Column("changed_at", TIME, nullable=False),
    sql.Column("embedding_model", sql.String(200), nullable=True),
    sql.Column("vector", sql.LargeBinary, nullable=True),
)

sql.Table(
    "roster",
    TABLES,
    sql.Column("kind", sql.String(10), primary_key=True),
    sql.Column("name", sql.String(64), primary_key=True),
    sql.Column("value", sql.JSON, nullable=False),
    sql.Column("changed_at", TIME, nullable=False),
)

sql.Table(
    "evaluations",
    TABLES,
    sql.Column("id", sql.String(32), primary_key=True),
    sql.Column("collection", sql.String(64), nullable=False, index=True),
    sql.Column("started_at", TIME, nullable=False),
    sql.Column("evaluation", sql.JSON, nullable=False),
    sql.Column("questions", sql.JSON, nullable=False),
)

sql.Table(
    "evaluation_rows",
    TABLES,
    sql.Column("evaluation_id", sql.String(32), sql.ForeignKey("evaluations.id"), primary_key=True),
    sql.Column("question_id", sql.Text, primary_key=True),
    sql.Column("row", sql.JSON, nullable=False),
)

sql.Table(
    "keys",
    TABLES,
    sql.Column("id", sql.String(12), primary_key=True),
    sql.Column("secret_hash", sql.String(64), nullable=False),
    sql.Column("name", sql.String(100), nullable=False),
    sql.Column("rights", sql.JSON, nullable=False),
    sql.Column("requests_per_day", sql.Integer, nullable=True),
    sql.Column("tokens_per_day", sql.BigInteger, nullable=True),
    sql.Column("created_at", TIME, nullable=False),
    sql.Column("expires_at", TIME, nullable=True),
    sql.Column("revoked_at", TIME, nullable=True),
    sql.Column("last_used_at", TIME, nullable=True),
    sql.Column("last_day", sql.String(10), nullable=False),
    sql.Column("requests", sql.Integer, nullable=False),
)

sql.Table(
    "audit",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("at", TIME, nullable=False, index=True),
    sql.Column("key", sql.String(12), nullable=False, index=True),
    sql.Column("name", sql.String(100), nullable=False),
    sql.Column("address", sql.String(100), nullable=False),
    sql.Column("action", sql.String(300), nullable=False),
    sql.Column("target", sql.Text, nullable=False),
    sql.Column("collections", sql.JSON, nullable=False),
    sql.Column("status", sql.Integer, nullable=False),
)

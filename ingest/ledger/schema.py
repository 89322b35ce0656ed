"""The tables of the ledger in the SQL database, and how its errors are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    DateTime,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateColumn

from ingest.errors import LedgerUnavailable

TABLES = MetaData()

DOCUMENTS = Table(
    "documents",
    TABLES,
    Column("collection", String(64), primary_key=True),
    Column("id", String(36), primary_key=True),
    Column("path", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("stage", String(16), nullable=False),
    Column("reason", Text, nullable=False),
    Column("version", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("modified", Float, nullable=False),
    Column("mime_type", String(255), nullable=False),
    Column("title", Text, nullable=False),
    Column("pages", Integer, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("parser", String(255), nullable=False),
    Column("chunking", String(255), nullable=False),
    Column("seconds", JSON, nullable=False),
    Column("warnings", JSON, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("container", Text, nullable=False, server_default=""),
    Column("read_at", Float, nullable=False, server_default="0"),
)

TEXTS = Table(
    "document_texts",
    TABLES,
    Column("collection", String(64), primary_key=True),
    Column("id", String(36), primary_key=True),
    Column("text", Text, nullable=False),
    Column("blocks", JSON, nullable=False),
    Column("pages", JSON, nullable=False),
)

HIDDEN = Table(
    "hidden_editions",
    TABLES,
    Column("collection", String(64), primary_key=True),
    Column("edition", String(16), primary_key=True),
    Column("document", String(36), nullable=False),
)

CHANGES = Table(
    "edition_changes",
    TABLES,
    Column("collection", String(64), primary_key=True),
    Column("number", BigInteger, nullable=False),
)

PASSAGES = Table(
    "embedded_passages",
    TABLES,
    Column("collection", String(64), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("chunk", String(36), nullable=False),
)

PLACES = Table(
    "collection_places",
    TABLES,
    Column("place", String(80), primary_key=True),
    Column("collection", String(64), nullable=False),
    Column("role", String(16), nullable=False),
)

UNDER_WAY = Table(
    "ingests_under_way",
    TABLES,
    Column("collection", String(64), primary_key=True),
    Column("holder", String(36), nullable=False),
    Column("host", Text, nullable=False),
    Column("process", BigInteger, nullable=False),
    Column("process_started", Float, nullable=False),
    Column("since", Float, nullable=False),
    Column("alive_at", Float, nullable=False),
)


def make_tables(engine: Engine) -> None:
    """Make what is not there."""
    with database():
        TABLES.create_all(engine)
        _add_columns(engine)


@contextmanager
def database() -> Iterator[None]:
    """Translate what the database reports."""
    try:
        yield
    except SQLAlchemyError as error:
        raise LedgerUnavailable(
            f"The database of documents cannot be used: {getattr(error, 'orig', None) or error}. Check that its disk "
            "has room and that it can be written, or that its server runs."
        ) from error


def _add_columns(engine: Engine) -> None:
    """Give the table of an earlier release the columns that it lacks."""
    present = {column["name"] for column in inspect(engine).get_columns(DOCUMENTS.name)}
    for column in DOCUMENTS.columns:
        if column.name not in present:
            definition = CreateColumn(column).compile(dialect=engine.dialect)
            with engine.begin() as connection:
                connection.exec_driver_sql(f"ALTER TABLE {DOCUMENTS.name} ADD COLUMN {definition}")

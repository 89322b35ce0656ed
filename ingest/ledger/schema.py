"""The tables of the ledger, and the translation of database errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import JSON, BigInteger, Column, DateTime, Float, Integer, String, Table, Text
from sqlalchemy.exc import SQLAlchemyError

from base.database import METADATA, DamagedValue
from ingest.errors import DamagedRow, LedgerUnavailable
from ingest.ledger.interrupts import INTERRUPTS

DOCUMENTS = Table(
    "documents",
    METADATA,
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
    Column("facts", JSON, nullable=False, server_default="{}"),
)

TAGS = Table(
    "document_tags",
    METADATA,
    Column("collection", String(64), primary_key=True),
    Column("id", String(36), primary_key=True),
    Column("tag", String(64), primary_key=True),
)

FIELDS = Table(
    "document_fields",
    METADATA,
    Column("collection", String(64), primary_key=True),
    Column("id", String(36), primary_key=True),
    Column("source", Integer, primary_key=True),
    Column("fields", JSON, nullable=False),
)

TEXTS = Table(
    "document_texts",
    METADATA,
    Column("collection", String(64), primary_key=True),
    Column("id", String(36), primary_key=True),
    Column("text", Text, nullable=False),
    Column("blocks", JSON, nullable=False),
    Column("pages", JSON, nullable=False),
)

HIDDEN = Table(
    "hidden_editions",
    METADATA,
    Column("collection", String(64), primary_key=True),
    Column("edition", String(16), primary_key=True),
    Column("document", String(36), nullable=False),
)

CHANGES = Table(
    "edition_changes",
    METADATA,
    Column("collection", String(64), primary_key=True),
    Column("number", BigInteger, nullable=False),
)

PASSAGES = Table(
    "embedded_passages",
    METADATA,
    Column("collection", String(64), primary_key=True),
    Column("digest", String(64), primary_key=True),
    Column("chunk", String(36), nullable=False),
)

ALIASES = Table(
    "collection_places",
    METADATA,
    Column("place", String(80), primary_key=True),
    Column("collection", String(64), nullable=False),
    Column("role", String(16), nullable=False),
)

SOURCES = Table(
    "sources",
    METADATA,
    Column("collection", String(64), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("address", Text, nullable=False),
    Column("options", JSON, nullable=False),
    Column("exclude", JSON, nullable=False),
    Column("include", JSON, nullable=False),
    Column("every", String(8), nullable=False, server_default=""),
    Column("synced_at", DateTime(timezone=True), nullable=True),
    Column("documents", Integer, nullable=False),
    Column("error", Text, nullable=False),
)

UNDER_WAY = Table(
    "ingests_under_way",
    METADATA,
    Column("collection", String(64), primary_key=True),
    Column("holder", String(36), nullable=False),
    Column("host", Text, nullable=False),
    Column("process", BigInteger, nullable=False),
    Column("process_started", Float, nullable=False),
    Column("since", Float, nullable=False),
    Column("alive_at", Float, nullable=False),
)


IDENTITY = Table("database_identity", METADATA, Column("id", String(36), primary_key=True))
"""One row, which a migration inserts."""


@contextmanager
def database() -> Iterator[None]:
    """Translate SQLAlchemyError to LedgerUnavailable. Delay Ctrl-C to the end of the block."""
    try:
        with INTERRUPTS.delayed():
            yield
    except DamagedValue as error:
        raise DamagedRow(str(error)) from error
    except SQLAlchemyError as error:
        raise LedgerUnavailable(
            f"The document database failed: {getattr(error, 'orig', None) or error}. Check that the disk has room and "
            "the database is writable, or that its server runs."
        ) from error

"""The table of the bin, which lists deleted items that can still be restored.

A deleted item keeps its rows. Stores exclude them from queries with ``kept``. ``api/services/bin.py`` writes the table.
"""

from enum import StrEnum

from sqlalchemy import BigInteger, Column, ColumnElement, DateTime, Engine, String, Table, Text, select

from base.database import METADATA


class Kind(StrEnum):
    """Kinds of items in the bin."""

    COLLECTION = "collection"
    DOCUMENT = "document"
    RUN = "run"
    TABLE = "table"
    KEY = "key"


BIN = Table(
    "bin",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("target", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("deleted_at", DateTime(timezone=True), nullable=False),
    Column("deleted_by", Text, nullable=False),
    Column("key", String(64), nullable=False),
)

# Built once, because every search runs it.
_PLACES = select(BIN.c.id, BIN.c.target).where(BIN.c.kind.in_((Kind.COLLECTION, Kind.DOCUMENT)))


def kept(kind: Kind, target: ColumnElement[str]) -> ColumnElement[bool]:
    """Return the SQL condition that excludes deleted items. ``target`` is the column with their id or name."""
    return target.not_in(select(BIN.c.target).where(BIN.c.kind == kind))


def places(engine: Engine) -> set[str]:
    """Return the names that the ledger uses for deleted items: collections, and bin entries that hold a document."""
    with engine.connect() as connection:
        return {name for row in connection.execute(_PLACES) for name in row}

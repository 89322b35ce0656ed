"""The ledger: what became of every file, with the parsed text that spans point into. Tables in the SQL database.

It is written after the store: a document that the ledger calls indexed has its chunks in the collection.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid5

from pydantic import Field, TypeAdapter
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    DateTime,
    Engine,
    Float,
    Integer,
    MetaData,
    RowMapping,
    Select,
    String,
    Table,
    Text,
    delete,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from ingest.errors import AmbiguousDocument, DocumentNotFound, LedgerUnavailable
from ingest.parser import Block, ParsedDocument
from vectorstore.models import PageSpan, Scalar, Value

_DOCUMENT_IDS = UUID("b7d0c5a2-3b7e-5b0e-8d52-1f0c8f0a9e21")
_BLOCKS = TypeAdapter(tuple[Block, ...])
_PAGES = TypeAdapter(tuple[PageSpan, ...])
_SHOWN = 5

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


class DocumentState(StrEnum):
    """How the ingest of a file ended."""

    INDEXED = "indexed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Stage(StrEnum):
    """What was being done with a file."""

    READING = "reading"
    PARSING = "parsing"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    STORING = "storing"


class DocumentRecord(Value):
    """One file in one collection. ``stage`` and ``reason`` say where and why it failed or was skipped."""

    collection: str
    id: str
    path: str
    name: str
    state: DocumentState
    stage: Stage
    reason: str = ""
    version: str = Field(default="", description="SHA-256 of the content, hex; empty if it could not be read")
    size: int = 0
    modified: float = Field(default=0.0, description="modification time of the file, seconds since 1970")
    mime_type: str = ""
    title: str = ""
    pages: int = Field(default=0, description="0 for formats without pages")
    chunks: int = 0
    tokens: int = 0
    parser: str = ""
    chunking: str = ""
    seconds: dict[str, float] = Field(default_factory=dict, description="per stage")
    warnings: tuple[str, ...] = ()
    metadata: dict[str, Scalar] = Field(default_factory=dict)
    updated_at: datetime = Field(default_factory=lambda: datetime.now(UTC))


class DocumentText(Value):
    """The parsed text of a document with its structure: what the spans of chunks and quotes point into."""

    text: str
    blocks: tuple[Block, ...]
    pages: tuple[PageSpan, ...]


def document_id(path: str) -> str:
    """The id of the file at an absolute path: the same in every collection, whatever its content."""
    return str(uuid5(_DOCUMENT_IDS, path))


class Ledger:
    """Reads and writes the two tables through the engine that it is handed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        with _database():
            TABLES.create_all(engine)

    def record(self, record: DocumentRecord, parsed: ParsedDocument | None = None) -> None:
        """Write what became of a file, replacing what was known; without ``parsed``, an earlier text stays."""
        with _database(), self._engine.begin() as connection:
            connection.execute(delete(DOCUMENTS).where(*_is(DOCUMENTS, record.collection, record.id)))
            connection.execute(insert(DOCUMENTS).values(record.model_dump()))
            if parsed:
                connection.execute(delete(TEXTS).where(*_is(TEXTS, record.collection, record.id)))
                connection.execute(insert(TEXTS).values(_text_row(record, parsed)))

    def touch(self, record: DocumentRecord, *, name: str, modified: float) -> None:
        """Note that an unchanged file was seen again, under this name."""
        values = {"name": name, "modified": modified, "updated_at": datetime.now(UTC)}
        with _database(), self._engine.begin() as connection:
            connection.execute(update(DOCUMENTS).where(*_is(DOCUMENTS, record.collection, record.id)).values(values))

    def get(self, collection: str, document: str) -> DocumentRecord | None:
        """The record of a document by its full id, if there is one."""
        found = self._records(select(DOCUMENTS).where(*_is(DOCUMENTS, collection, document)))
        return found[0] if found else None

    def find(self, collection: str, reference: str) -> DocumentRecord:
        """The document that a person means: by id, the beginning of one, path or name.

        Raises DocumentNotFound, AmbiguousDocument (naming the candidates).
        """
        columns = DOCUMENTS.c
        within = select(DOCUMENTS).where(columns.collection == collection).order_by(columns.name)
        exact = or_(columns.id == reference, columns.path == reference, columns.name == reference)
        found = self._records(within.where(exact)) or self._records(
            within.where(
                or_(
                    columns.id.startswith(reference, autoescape=True),
                    columns.name.endswith(f"/{reference}", autoescape=True),
                )
            )
        )
        if not found:
            raise DocumentNotFound(
                f"No document {reference!r} in collection {collection!r}. `candor documents --collection {collection}` "
                "lists those there are."
            )
        if len(found) > 1:
            shown = ", ".join(f"{record.name} ({record.id[:8]})" for record in found[:_SHOWN])
            raise AmbiguousDocument(f"{reference!r} may mean {len(found)} documents: {shown}. Name one by its id.")
        return found[0]

    def list(self, collection: str, state: DocumentState | None = None) -> list[DocumentRecord]:
        """The documents of a collection by name, those in one state if it is given."""
        query = select(DOCUMENTS).where(DOCUMENTS.c.collection == collection).order_by(DOCUMENTS.c.name, DOCUMENTS.c.id)
        return self._records(query if state is None else query.where(DOCUMENTS.c.state == state))

    def text(self, collection: str, document: str) -> DocumentText:
        """The parsed text of a document by its full id. Raises DocumentNotFound if none was ever parsed."""
        with _database(), self._engine.connect() as connection:
            row = connection.execute(select(TEXTS).where(*_is(TEXTS, collection, document))).mappings().first()
        if row is None:
            raise DocumentNotFound(f"Document {document!r} in collection {collection!r} has no parsed text.")
        return DocumentText(
            text=row["text"],
            blocks=_BLOCKS.validate_python(row["blocks"]),
            pages=_PAGES.validate_python(row["pages"]),
        )

    def forget(self, collection: str) -> None:
        """Delete all that is known of a collection, for when the collection itself was dropped."""
        with _database(), self._engine.begin() as connection:
            for table in (DOCUMENTS, TEXTS):
                connection.execute(delete(table).where(table.c.collection == collection))

    def _records(self, query: Select[Any]) -> builtins.list[DocumentRecord]:
        with _database(), self._engine.connect() as connection:
            return [_record(row) for row in connection.execute(query).mappings()]


def _is(table: Table, collection: str, document: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.collection == collection, table.c.id == document


def _record(row: RowMapping) -> DocumentRecord:
    values = dict(row)
    if values["updated_at"].tzinfo is None:  # SQLite keeps no time zone
        values["updated_at"] = values["updated_at"].replace(tzinfo=UTC)
    return DocumentRecord(**values)


def _text_row(record: DocumentRecord, parsed: ParsedDocument) -> dict[str, object]:
    return {
        "collection": record.collection,
        "id": record.id,
        "text": parsed.text,
        "blocks": _BLOCKS.dump_python(parsed.blocks, mode="json"),
        "pages": _PAGES.dump_python(parsed.pages, mode="json"),
    }


@contextmanager
def _database() -> Iterator[None]:
    """Translate what the database reports."""
    try:
        yield
    except SQLAlchemyError as error:
        raise LedgerUnavailable(
            f"The database of documents cannot be used: {getattr(error, 'orig', None) or error}. Check that its disk "
            "has room and that it can be written, or that its server runs."
        ) from error

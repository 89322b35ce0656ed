"""The ledger: what became of every file, with the parsed text that spans point into.

It decides what searches see. The chunks of a document's new *edition* (its content, parser and chunking) are written
to the store while the ledger lists that edition as hidden; one transaction makes it the live one and hides the old;
only then the old chunks are deleted. Killed at any point, the store holds hidden chunks that nobody sees, and the next
ingest finishes or clears them.
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    RowMapping,
    Select,
    Table,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from ingest.document import Block, ParsedDocument
from ingest.errors import AmbiguousDocument, DocumentNotFound
from ingest.ledger.records import Count, DocumentRecord, DocumentState, DocumentText, Known, Stage
from ingest.ledger.schema import CHANGES, DOCUMENTS, HIDDEN, PASSAGES, TEXTS, database
from vectorstore.models import PageSpan

_BLOCKS = TypeAdapter(tuple[Block, ...])
_PAGES = TypeAdapter(tuple[PageSpan, ...])
_SHOWN = 5

# Put together once: every search asks.
_HIDDEN = select(HIDDEN.c.edition, HIDDEN.c.document).where(HIDDEN.c.collection == bindparam("collection"))
_CHANGES = select(CHANGES.c.number).where(CHANGES.c.collection == bindparam("collection"))


class Ledger:
    """Reads and writes its tables through the engine that it is handed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def record(self, record: DocumentRecord, parsed: ParsedDocument | None = None) -> None:
        """Write what became of a file, replacing what was known; without ``parsed``, an earlier text stays."""
        with database(), self._engine.begin() as connection:
            connection.execute(delete(DOCUMENTS).where(*_is(DOCUMENTS, record.collection, record.id)))
            connection.execute(insert(DOCUMENTS).values(record.model_dump()))
            if parsed:
                connection.execute(delete(TEXTS).where(*_is(TEXTS, record.collection, record.id)))
                connection.execute(insert(TEXTS).values(_text_row(record, parsed)))

    def discover(self, records: Sequence[DocumentRecord]) -> None:
        """Write many records at once, replacing what was known; texts stay."""
        with database(), self._engine.begin() as connection:
            if records:
                keys = [{"its_collection": record.collection, "its_id": record.id} for record in records]
                one = (DOCUMENTS.c.collection == bindparam("its_collection"), DOCUMENTS.c.id == bindparam("its_id"))
                connection.execute(delete(DOCUMENTS).where(*one), keys)
                connection.execute(insert(DOCUMENTS), [record.model_dump() for record in records])

    def advance(self, collection: str, document: str, state: DocumentState, stage: Stage, attempts: int) -> None:
        """Note how far a file has come, at the how-manieth attempt."""
        values: dict[str, Any] = {
            "state": state, "stage": stage, "attempts": attempts, "updated_at": datetime.now(UTC)
        }  # fmt: skip
        with database(), self._engine.begin() as connection:
            connection.execute(update(DOCUMENTS).where(*_is(DOCUMENTS, collection, document)).values(values))

    def touch(self, collection: str, document: str, *, name: str, modified: float, read_at: float) -> None:
        """Note that a file was found to hold what is indexed of it, under this name."""
        values: dict[str, Any] = {
            "state": DocumentState.INDEXED, "stage": Stage.STORING, "reason": "", "name": name,
            "modified": modified, "read_at": read_at, "updated_at": datetime.now(UTC),
        }  # fmt: skip
        with database(), self._engine.begin() as connection:
            connection.execute(update(DOCUMENTS).where(*_is(DOCUMENTS, collection, document)).values(values))

    def publish(
        self,
        record: DocumentRecord,
        parsed: ParsedDocument | None = None,
        *,
        superseded: str = "",
        moved_from: Known | None = None,
    ) -> None:
        """Make an edition the live one and hide the one before it, and what lay under an earlier path, at once."""
        with database(), self._engine.begin() as connection:
            for table in (DOCUMENTS, TEXTS):
                connection.execute(delete(table).where(*_is(table, record.collection, record.id)))
            connection.execute(insert(DOCUMENTS).values(record.model_dump()))
            if parsed:
                connection.execute(insert(TEXTS).values(_text_row(record, parsed)))
            connection.execute(delete(HIDDEN).where(*_is_edition(record.collection, record.edition)))
            if superseded:
                _hide(connection, record.collection, record.id, superseded)
            if moved_from:
                _remove(connection, record.collection, moved_from.id, moved_from.edition, f"moved to {record.path}")

    def remove(self, collection: str, document: str, edition: str, reason: str) -> None:
        """Note that a document is gone, and hide its chunks from that moment on."""
        with database(), self._engine.begin() as connection:
            _remove(connection, collection, document, edition, reason)

    def hide(self, collection: str, document: str, edition: str) -> None:
        """Let searches pass over an edition; before its first chunk is written."""
        with database(), self._engine.begin() as connection:
            _hide(connection, collection, document, edition)

    def unhide(self, collection: str, editions: Sequence[str]) -> None:
        """Forget hidden editions that have no chunks any more."""
        with database(), self._engine.begin() as connection:
            for edition in editions:
                connection.execute(delete(HIDDEN).where(*_is_edition(collection, edition)))

    def hidden(self, collection: str) -> dict[str, str]:
        """The editions that searches pass over, each with its document. Few: those being written or deleted."""
        with database(), self._engine.connect() as connection:
            return {row.edition: row.document for row in connection.execute(_HIDDEN, {"collection": collection})}

    def changes(self, collection: str) -> int:
        """A number that is another whenever a search could see some of an edition, or of two, that was under way."""
        with database(), self._engine.connect() as connection:
            return connection.execute(_CHANGES, {"collection": collection}).scalar() or 0

    def embedded(self, collection: str, digests: Sequence[str]) -> dict[str, str]:
        """Which chunk was last embedded from the text of each digest; it may be gone from the store since."""
        columns = PASSAGES.c
        query = select(columns.digest, columns.chunk).where(
            columns.collection == collection, columns.digest.in_(digests)
        )
        with database(), self._engine.connect() as connection:
            return {row.digest: row.chunk for row in connection.execute(query)}

    def note_embedded(self, collection: str, chunks: Mapping[str, str]) -> None:
        """Note which chunk, already stored, has the vector of the text of each digest."""
        columns = PASSAGES.c
        rows = [{"collection": collection, "digest": digest, "chunk": chunk} for digest, chunk in chunks.items()]
        with database(), self._engine.begin() as connection:
            connection.execute(
                delete(PASSAGES).where(columns.collection == collection, columns.digest.in_(list(chunks)))
            )
            if rows:
                connection.execute(insert(PASSAGES), rows)

    def snapshot(self, collection: str) -> dict[str, Known]:
        """What is known of every document of the collection, by id."""
        query = select(*(DOCUMENTS.c[name] for name in Known._fields)).where(DOCUMENTS.c.collection == collection)
        with database(), self._engine.connect() as connection:
            return {row.id: _known(row) for row in connection.execute(query)}

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

    def counts(self) -> dict[str, dict[DocumentState, Count]]:
        """How much there is, by collection and state."""
        counted: defaultdict[str, dict[DocumentState, Count]] = defaultdict(dict)
        columns = DOCUMENTS.c.collection, DOCUMENTS.c.state
        query = select(*columns, func.count(), func.sum(DOCUMENTS.c.chunks)).group_by(*columns)
        with database(), self._engine.connect() as connection:
            for collection, state, documents, chunks in connection.execute(query):
                counted[collection][DocumentState(state)] = Count(documents, chunks)
        return dict(counted)

    def text(self, collection: str, document: str) -> DocumentText:
        """The parsed text of a document by its full id. Raises DocumentNotFound if none was ever parsed."""
        with database(), self._engine.connect() as connection:
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
        with database(), self._engine.begin() as connection:
            for table in (DOCUMENTS, TEXTS, HIDDEN, CHANGES, PASSAGES):
                connection.execute(delete(table).where(table.c.collection == collection))

    def _records(self, query: Select[Any]) -> builtins.list[DocumentRecord]:
        with database(), self._engine.connect() as connection:
            return [_record(row) for row in connection.execute(query).mappings()]


def _is(table: Table, collection: str, document: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.collection == collection, table.c.id == document


def _is_edition(collection: str, edition: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return HIDDEN.c.collection == collection, HIDDEN.c.edition == edition


def _hide(connection: Connection, collection: str, document: str, edition: str) -> None:
    if edition:
        connection.execute(delete(HIDDEN).where(*_is_edition(collection, edition)))
        connection.execute(insert(HIDDEN).values(collection=collection, edition=edition, document=document))
        counted = update(CHANGES).where(CHANGES.c.collection == collection).values(number=CHANGES.c.number + 1)
        if not connection.execute(counted).rowcount:
            connection.execute(insert(CHANGES).values(collection=collection, number=1))


def _remove(connection: Connection, collection: str, document: str, edition: str, reason: str) -> None:
    gone: dict[str, Any] = {
        "state": DocumentState.REMOVED, "reason": reason, "chunks": 0, "tokens": 0, "updated_at": datetime.now(UTC)
    }  # fmt: skip
    connection.execute(update(DOCUMENTS).where(*_is(DOCUMENTS, collection, document)).values(gone))
    connection.execute(delete(TEXTS).where(*_is(TEXTS, collection, document)))
    _hide(connection, collection, document, edition)


def _record(row: RowMapping) -> DocumentRecord:
    return DocumentRecord(**{**row, "updated_at": _utc(row["updated_at"])})


def _known(row: Row[Any]) -> Known:
    known = Known._make(row)
    return known._replace(state=DocumentState(known.state), stage=Stage(known.stage))


def _utc(time: datetime) -> datetime:
    """SQLite keeps no time zone."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _text_row(record: DocumentRecord, parsed: ParsedDocument) -> dict[str, object]:
    return {
        "collection": record.collection,
        "id": record.id,
        "text": parsed.text,
        "blocks": _BLOCKS.dump_python(parsed.blocks, mode="json"),
        "pages": _PAGES.dump_python(parsed.pages, mode="json"),
    }

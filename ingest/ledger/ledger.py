"""The ledger, which records the state and the parsed text of every file.

The ledger controls which versions of a document searches return. An ingest replaces a document in three steps, so that
a search always returns chunks of exactly one version:

1. The ledger hides the new *indexed version* (content, parser and chunking). Then the ingest writes its chunks to the
   store.
2. One transaction shows the new version and hides the old one.
3. The ingest deletes the old chunks from the store.

If the process is killed between two steps, the store contains hidden chunks. The next ingest publishes or deletes them.
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
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from ingest.document import Block, ParsedDocument
from ingest.errors import AmbiguousDocument, DocumentNotFound
from ingest.ledger.records import STARTED, Count, DocumentRecord, DocumentState, DocumentSummary, DocumentText, Stage
from ingest.ledger.schema import CHANGES, DOCUMENTS, HIDDEN, IDENTITY, PASSAGES, TAGS, TEXTS, database
from ingest.ledger.tags import change_tags, copy_tags, read_tags
from vectorstore.models import PageSpan

_BLOCKS = TypeAdapter(tuple[Block, ...])
_PAGES = TypeAdapter(tuple[PageSpan, ...])
_SHOWN = 5
_REFERENCES = 5_000  # names or ids per query; SQLite allows 32,766 values, and each is used twice

# Statements that every search executes, so they are built only once.
_HIDDEN = select(HIDDEN.c.edition, HIDDEN.c.document).where(HIDDEN.c.collection == bindparam("collection"))
_CHANGES = select(CHANGES.c.number).where(CHANGES.c.collection == bindparam("collection"))


class Ledger:
    """Reads and writes the tables of documents, texts and hidden versions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def record(self, record: DocumentRecord, parsed: ParsedDocument | None = None) -> None:
        """Replace the record of a file. Without ``parsed``, its stored text stays."""
        with database(), self._engine.begin() as connection:
            connection.execute(delete(DOCUMENTS).where(*_is(DOCUMENTS, record.collection, record.id)))
            connection.execute(insert(DOCUMENTS).values(_row(record)))
            if parsed:
                connection.execute(delete(TEXTS).where(*_is(TEXTS, record.collection, record.id)))
                connection.execute(insert(TEXTS).values(_text_row(record, parsed)))

    def discover(self, records: Sequence[DocumentRecord]) -> None:
        """Replace many records in one transaction. Stored texts stay."""
        with database(), self._engine.begin() as connection:
            if records:
                keys = [{"record_collection": record.collection, "record_id": record.id} for record in records]
                one = (
                    DOCUMENTS.c.collection == bindparam("record_collection"),
                    DOCUMENTS.c.id == bindparam("record_id"),
                )
                connection.execute(delete(DOCUMENTS).where(*one), keys)
                connection.execute(insert(DOCUMENTS), [_row(record) for record in records])

    def advance(self, collection: str, document: str, state: DocumentState, stage: Stage, attempts: int) -> None:
        """Update the state, stage and number of attempts of a file."""
        values: dict[str, Any] = {
            "state": state, "stage": stage, "attempts": attempts, "updated_at": datetime.now(UTC)
        }  # fmt: skip
        with database(), self._engine.begin() as connection:
            connection.execute(update(DOCUMENTS).where(*_is(DOCUMENTS, collection, document)).values(values))

    def requeue_unfinished(self, collection: str) -> None:
        """Reset the files that an interrupted ingest left in an intermediate state.

        The record of a document with an indexed version still describes that version.
        """
        columns = DOCUMENTS.c
        indexed = columns.chunks > 0
        values: dict[str, Any] = {
            "state": case((indexed, DocumentState.INDEXED), else_=DocumentState.DISCOVERED),
            "stage": case((indexed, Stage.STORING), else_=Stage.READING),
            "updated_at": datetime.now(UTC),
        }
        started = columns.collection == collection, columns.state.in_(STARTED)
        with database(), self._engine.begin() as connection:
            connection.execute(update(DOCUMENTS).where(*started).values(values))

    def touch(self, collection: str, document: str, *, name: str, modified: float, read_at: float) -> None:
        """Record that the content of the file is the indexed content, and record its current name."""
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
        moved_from: DocumentSummary | None = None,
    ) -> None:
        """Show an indexed version to searches and hide the ``superseded`` one, in one transaction.

        ``moved_from`` is the document with the same content whose file was moved to this path. It is removed.
        """
        with database(), self._engine.begin() as connection:
            for table in (DOCUMENTS, TEXTS):
                connection.execute(delete(table).where(*_is(table, record.collection, record.id)))
            connection.execute(insert(DOCUMENTS).values(_row(record)))
            if parsed:
                connection.execute(insert(TEXTS).values(_text_row(record, parsed)))
            connection.execute(delete(HIDDEN).where(*_is_version(record.collection, record.index_version)))
            if superseded:
                _hide(connection, record.collection, record.id, superseded)
            if moved_from:
                copy_tags(connection, record.collection, moved_from.id, record.id)
                _remove(
                    connection, record.collection, moved_from.id, moved_from.index_version, f"moved to {record.path}"
                )

    def remove(self, collection: str, document: str, version: str, reason: str) -> None:
        """Mark a document as removed and hide its chunks."""
        with database(), self._engine.begin() as connection:
            _remove(connection, collection, document, version, reason)

    def tag(
        self, collection: str, documents: Sequence[str], *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> None:
        """Add and remove tags of documents. The documents need no record yet."""
        with database(), self._engine.begin() as connection:
            change_tags(connection, collection, documents, add=add, remove=remove)

    def inherit_tags(self, collection: str, container: str, member: str) -> None:
        """Add the tags of a container to a member of it."""
        with database(), self._engine.begin() as connection:
            copy_tags(connection, collection, container, member)

    def hide(self, collection: str, document: str, version: str) -> None:
        """Hide an indexed version from searches. Call it before its first chunk is written."""
        with database(), self._engine.begin() as connection:
            _hide(connection, collection, document, version)

    def unhide(self, collection: str, versions: Sequence[str]) -> None:
        """Delete the entries of hidden versions whose chunks were deleted from the store."""
        with database(), self._engine.begin() as connection:
            for version in versions:
                connection.execute(delete(HIDDEN).where(*_is_version(collection, version)))

    def hidden(self, collection: str) -> dict[str, str]:
        """Return the document of each hidden version. Only versions being written or deleted are hidden."""
        with database(), self._engine.connect() as connection:
            return {row.edition: row.document for row in connection.execute(_HIDDEN, {"collection": collection})}

    def changes(self, collection: str) -> int:
        """Return a counter that increases whenever a version is hidden.

        If it is the same before and after a search, the search saw one consistent state.
        """
        with database(), self._engine.connect() as connection:
            return connection.execute(_CHANGES, {"collection": collection}).scalar() or 0

    def embedded(self, collection: str, digests: Sequence[str]) -> dict[str, str]:
        """Return the last chunk that was embedded for each text digest. The chunk may no longer be in the store."""
        columns = PASSAGES.c
        query = select(columns.digest, columns.chunk).where(
            columns.collection == collection, columns.digest.in_(digests)
        )
        with database(), self._engine.connect() as connection:
            return {row.digest: row.chunk for row in connection.execute(query)}

    def note_embedded(self, collection: str, chunks: Mapping[str, str]) -> None:
        """Record which stored chunk has the vector of a text. ``chunks`` maps digests of texts to chunk ids."""
        columns = PASSAGES.c
        rows = [{"collection": collection, "digest": digest, "chunk": chunk} for digest, chunk in chunks.items()]
        with database(), self._engine.begin() as connection:
            connection.execute(
                delete(PASSAGES).where(columns.collection == collection, columns.digest.in_(list(chunks)))
            )
            if rows:
                connection.execute(insert(PASSAGES), rows)

    def snapshot(self, collection: str) -> dict[str, DocumentSummary]:
        """Return a summary of every document of the collection, by id."""
        query = select(*(DOCUMENTS.c[name] for name in DocumentSummary._fields)).where(
            DOCUMENTS.c.collection == collection
        )
        with database(), self._engine.connect() as connection:
            return {row.id: _summary(row) for row in connection.execute(query)}

    def get(self, collection: str, document: str) -> DocumentRecord | None:
        """Return the record of a document by its full id, or None."""
        found = self._records(select(DOCUMENTS).where(*_is(DOCUMENTS, collection, document)))
        return found[0] if found else None

    def find(self, collection: str, reference: str) -> DocumentRecord:
        """Return the document with this id, path or name. The beginning of an id and the end of a name are enough.

        Raises DocumentNotFound, and AmbiguousDocument, which lists the candidates.
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
            raise DocumentNotFound(f"There is no document {reference!r} in collection {collection!r}.").with_command(
                f"`candor documents --collection {collection}` lists its documents."
            )
        if len(found) > 1:
            shown = ", ".join(f"{record.name} ({record.id[:8]})" for record in found[:_SHOWN])
            raise AmbiguousDocument(f"{reference!r} matches {len(found)} documents: {shown}. Use the id of one.")
        return found[0]

    def list(self, collection: str, state: DocumentState | None = None) -> list[DocumentRecord]:
        """Return the documents of a collection, sorted by name. ``state`` filters them."""
        query = select(DOCUMENTS).where(DOCUMENTS.c.collection == collection).order_by(DOCUMENTS.c.name, DOCUMENTS.c.id)
        return self._records(query if state is None else query.where(DOCUMENTS.c.state == state))

    def searchable(self, collection: str, references: Sequence[str]) -> builtins.list[str]:
        """Return the ids of the indexed documents with these ids or names, sorted by name."""
        columns, found = DOCUMENTS.c, {}
        with database(), self._engine.connect() as connection:
            for start in range(0, len(references), _REFERENCES):
                some = references[start : start + _REFERENCES]
                query = select(columns.id, columns.name).where(
                    columns.collection == collection,
                    columns.chunks > 0,
                    or_(columns.id.in_(some), columns.name.in_(some)),
                )
                found.update({row.id: (row.name, row.id) for row in connection.execute(query)})
        return sorted(found, key=found.__getitem__)

    def counts(self) -> dict[str, dict[DocumentState, Count]]:
        """Count documents and chunks by collection and state."""
        counted: defaultdict[str, dict[DocumentState, Count]] = defaultdict(dict)
        columns = DOCUMENTS.c.collection, DOCUMENTS.c.state
        query = select(*columns, func.count(), func.sum(DOCUMENTS.c.chunks)).group_by(*columns)
        with database(), self._engine.connect() as connection:
            for collection, state, documents, chunks in connection.execute(query):
                counted[collection][DocumentState(state)] = Count(documents, chunks)
        return dict(counted)

    def indexed(self, collection: str, documents: Sequence[str] = ()) -> Count:
        """Count the indexed documents of a collection, or those among ``documents``, and their chunks."""
        columns = DOCUMENTS.c
        query = select(func.count(), func.coalesce(func.sum(columns.chunks), 0)).where(
            columns.collection == collection, columns.chunks > 0
        )
        with database(), self._engine.connect() as connection:
            return Count(*connection.execute(query.where(columns.id.in_(documents)) if documents else query).one())

    def database_id(self) -> str:
        """Return the id of the database. Processes that share the database have the same id."""
        with database(), self._engine.connect() as connection:
            return str(connection.execute(select(IDENTITY.c.id)).scalar_one())

    def text(self, collection: str, document: str) -> DocumentText:
        """Return the parsed text of a document by its full id. Raises DocumentNotFound if there is none."""
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
        """Delete every row of a collection, after the collection itself was dropped."""
        with database(), self._engine.begin() as connection:
            for table in (DOCUMENTS, TAGS, TEXTS, HIDDEN, CHANGES, PASSAGES):
                connection.execute(delete(table).where(table.c.collection == collection))

    def _records(self, query: Select[Any]) -> builtins.list[DocumentRecord]:
        with database(), self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
            tags = read_tags(connection, rows[0]["collection"]) if rows else {}
        return [_record(row, tags.get(row["id"], ())) for row in rows]


def _is(table: Table, collection: str, document: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.c.collection == collection, table.c.id == document


def _is_version(collection: str, version: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return HIDDEN.c.collection == collection, HIDDEN.c.edition == version


def _hide(connection: Connection, collection: str, document: str, version: str) -> None:
    if version:
        connection.execute(delete(HIDDEN).where(*_is_version(collection, version)))
        connection.execute(insert(HIDDEN).values(collection=collection, edition=version, document=document))
        incremented = update(CHANGES).where(CHANGES.c.collection == collection).values(number=CHANGES.c.number + 1)
        if not connection.execute(incremented).rowcount:
            connection.execute(insert(CHANGES).values(collection=collection, number=1))


def _remove(connection: Connection, collection: str, document: str, version: str, reason: str) -> None:
    removed: dict[str, Any] = {
        "state": DocumentState.REMOVED, "reason": reason, "chunks": 0, "tokens": 0, "updated_at": datetime.now(UTC)
    }  # fmt: skip
    connection.execute(update(DOCUMENTS).where(*_is(DOCUMENTS, collection, document)).values(removed))
    connection.execute(delete(TEXTS).where(*_is(TEXTS, collection, document)))
    _hide(connection, collection, document, version)


def _row(record: DocumentRecord) -> dict[str, Any]:
    return record.model_dump(exclude={"tags"})


def _record(row: RowMapping, tags: tuple[str, ...]) -> DocumentRecord:
    return DocumentRecord(**{**row, "updated_at": _utc(row["updated_at"]), "tags": tags})


def _summary(row: Row[Any]) -> DocumentSummary:
    summary = DocumentSummary._make(row)
    return summary._replace(state=DocumentState(summary.state), stage=Stage(summary.stage))


def _utc(time: datetime) -> datetime:
    """Add the time zone that SQLite does not store."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _text_row(record: DocumentRecord, parsed: ParsedDocument) -> dict[str, object]:
    return {
        "collection": record.collection,
        "id": record.id,
        "text": parsed.text,
        "blocks": _BLOCKS.dump_python(parsed.blocks, mode="json"),
        "pages": _PAGES.dump_python(parsed.pages, mode="json"),
    }

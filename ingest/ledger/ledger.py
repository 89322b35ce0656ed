"""The ledger, which records the state and the parsed text of every file.

The ledger controls which versions of a document searches return. An ingest replaces a document in three steps, so that
a search always returns chunks of exactly one version:

1. The ledger hides the new *indexed version* (content, parser and chunking). Then the ingest writes its chunks to the
   store.
2. One transaction shows the new version and hides the old one.
3. The ingest deletes the old chunks from the store.

If the process is killed between two steps, the store contains hidden chunks. The next ingest publishes or deletes them.
"""

import builtins
import os
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sql

from ingest.errors import AmbiguousDocument, DamagedRow, DocumentNotFound
from ingest.fields import DATE
from ingest.ledger.records import (
    OF_FILES,
    STARTED,
    Count,
    DocumentRecord,
    DocumentState,
    DocumentSummary,
    DocumentText,
    FieldSource,
    Publication,
    Stage,
    Touched,
    document_date,
    document_id,
)
from ingest.ledger.rows import (
    BLOCKS,
    NOTHING,
    PAGES,
    Own,
    change_fields,
    change_tags,
    copy_own,
    delete_rows,
    hide_versions,
    insert_rows,
    is_document,
    is_given,
    read_own,
    remove_documents,
    to_record,
    to_row,
    to_summary,
    to_text_row,
    unhide_versions,
)
from ingest.ledger.schema import CHANGES, DOCUMENTS, FIELDS, HIDDEN, IDENTITY, PASSAGES, SOURCES, TAGS, TEXTS, database
from vectorstore.models import FILE_DATE, FieldValue

T = TypeVar("T")

_LISTED = (
    "id", "name", "path", "title", "chunks", "pages", "version", "modified", "mime_type", "metadata", "facts",
    "warnings", "state", "reason",
)  # fmt: skip
_SHOWN = 5
_REFERENCES = 5_000  # names or ids per query; SQLite allows 32,766 values, and each is used twice

# Statements that every search executes, so they are built only once.
_HIDDEN = sql.select(HIDDEN.c.edition, HIDDEN.c.document).where(HIDDEN.c.collection == sql.bindparam("collection"))
_CHANGES = sql.select(CHANGES.c.number).where(CHANGES.c.collection == sql.bindparam("collection"))


def _spellings(name: str) -> list[str]:
    """Return a name with its accents composed and decomposed. File systems store names in both forms."""
    return list({name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))})


DAMAGED = "Its row in the database was damaged"
"""The beginning of the reason of a document whose row could not be read."""
_EMPTY: dict[str, Any] = {
    "state": DocumentState.FAILED, "stage": Stage.STORING, "seconds": {}, "warnings": [], "metadata": {}, "facts": {},
    "size": 0, "modified": 0.0, "pages": 0, "tokens": 0, "read_at": 0.0, "attempts": 0,
}  # fmt: skip


_KEPT = (TEXTS, FIELDS, DOCUMENTS)
"""The tables whose rows move to the bin with a document. Tags, and fields that people set, stay in its collection."""


def _of_file(table: sql.Table) -> tuple[sql.ColumnElement[bool], ...]:
    """Return the SQL condition for rows read from files. Only the table of fields also has others."""
    return (FIELDS.c.source == FieldSource.FILE,) if table is FIELDS else ()


class Ledger:
    """Reads and writes the tables of documents, texts and hidden versions."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    def record(self, *records: DocumentRecord) -> None:
        """Replace the records of files in one transaction. Stored texts stay."""
        with database(), self._engine.begin() as connection:
            delete_rows(connection, DOCUMENTS, records)
            insert_rows(connection, DOCUMENTS, [to_row(record) for record in records])

    def advance(self, collection: str, state: DocumentState, stage: Stage, attempts: Mapping[str, int]) -> None:
        """Update the state and stage of files, and their numbers of attempts, which are given by document id."""
        values = {"state": state, "stage": stage, "updated_at": datetime.now(UTC), "attempts": sql.bindparam("tried")}
        self._update(
            values, [{"of": collection, "one": document, "tried": tried} for document, tried in attempts.items()]
        )

    def requeue_unfinished(self, collection: str) -> None:
        """Reset the files that an interrupted ingest left in an intermediate state.

        The record of a document with an indexed version still describes that version.
        """
        columns = DOCUMENTS.c
        indexed = columns.chunks > 0
        values: dict[str, Any] = {
            "state": sql.case((indexed, DocumentState.INDEXED), else_=DocumentState.DISCOVERED),
            "stage": sql.case((indexed, Stage.STORING), else_=Stage.READING),
            "updated_at": datetime.now(UTC),
        }
        started = columns.collection == collection, columns.state.in_(STARTED)
        with database(), self._engine.begin() as connection:
            connection.execute(sql.update(DOCUMENTS).where(*started).values(values))

    def touch(self, collection: str, files: Sequence[Touched]) -> None:
        """Record that the contents of the files are the indexed contents, and record their current names."""
        values = {
            "state": DocumentState.INDEXED, "stage": Stage.STORING, "reason": "", "updated_at": datetime.now(UTC),
            "name": sql.bindparam("called"), "modified": sql.bindparam("changed"), "read_at": sql.bindparam("opened"),
        }  # fmt: skip
        rows = [
            {"of": collection, "one": each.id, "called": each.name, "changed": each.modified, "opened": each.read_at}
            for each in files
        ]
        self._update(values, rows)

    def relocate(
        self, collection: str, documents: Sequence[DocumentSummary], forgotten: Sequence[DocumentSummary]
    ) -> None:
        """Record the new paths and names of documents whose files were moved.

        Deletes the records of ``forgotten`` files, and of what was removed at the new paths.
        """
        rows = [
            {"of": collection, "one": each.id, "at": each.path, "called": each.name, "within": each.container}
            for each in documents
        ]
        columns = DOCUMENTS.c
        was_removed = columns.collection == sql.bindparam("of"), columns.path == sql.bindparam("at")
        if rows:
            with database(), self._engine.begin() as connection:
                connection.execute(
                    sql.delete(DOCUMENTS).where(*was_removed, columns.state == DocumentState.REMOVED), rows
                )
        if keys := [{"of": collection, "one": each.id} for each in forgotten]:
            with database(), self._engine.begin() as connection:
                connection.execute(sql.delete(DOCUMENTS).where(*is_given(DOCUMENTS)), keys)
        self._update(
            {"path": sql.bindparam("at"), "name": sql.bindparam("called"), "container": sql.bindparam("within")}, rows
        )

    def publish(self, documents: Sequence[Publication]) -> None:
        """Show indexed versions to searches and hide those that they replace, in one transaction."""
        records = [each.record for each in documents]
        moved = [(each.record, each.moved_from) for each in documents if each.moved_from]
        with database(), self._engine.begin() as connection:
            for table in (DOCUMENTS, TEXTS):
                delete_rows(connection, table, records)
            insert_rows(connection, DOCUMENTS, [to_row(record) for record in records])
            insert_rows(connection, TEXTS, [to_text_row(each.record, each.parsed) for each in documents if each.parsed])
            for collection in dict.fromkeys(record.collection for record in records):
                here = [each for each in documents if each.record.collection == collection]
                unhide_versions(connection, collection, [each.record.index_version for each in here])
                replaced = [each for each in here if each.superseded != each.record.index_version]
                hide_versions(connection, collection, {each.superseded: each.record.id for each in replaced})
                stated = {each.record.id: each.fields for each in here if each.fields is not None}
                change_fields(connection, collection, FieldSource.FILE, stated, keep=False)
            for record, former in moved:
                copy_own(connection, record.collection, {record.id: former.id})
                remove_documents(connection, record.collection, [former], f"moved to {record.path}")

    def remove(self, collection: str, documents: Sequence[DocumentRecord | DocumentSummary], reason: str) -> None:
        """Mark documents as removed and hide their chunks, in one transaction."""
        with database(), self._engine.begin() as connection:
            remove_documents(connection, collection, documents, reason)

    def tag(
        self, collection: str, documents: Sequence[str], *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> None:
        """Add and remove tags of documents. The documents need no record yet."""
        with database(), self._engine.begin() as connection:
            change_tags(connection, collection, documents, add=add, remove=remove)

    def describe(
        self, collection: str, source: FieldSource, fields: Mapping[str, Mapping[str, FieldValue]], *, keep: bool
    ) -> None:
        """Set the fields of documents, given by id, from a source. With ``keep``, keep its other fields.

        An empty text removes a field. The documents need no record yet.
        """
        if fields:
            with database(), self._engine.begin() as connection:
                change_fields(connection, collection, source, fields, keep=keep)

    def inherit(self, collection: str, containers: Mapping[str, str]) -> None:
        """Add the tags and fields of containers to their members. ``containers`` maps members to containers."""
        with database(), self._engine.begin() as connection:
            copy_own(connection, collection, containers)

    def hide(self, collection: str, versions: Mapping[str, str]) -> None:
        """Hide indexed versions from searches. ``versions`` maps them to documents.

        Call it before their first chunk is written.
        """
        with database(), self._engine.begin() as connection:
            hide_versions(connection, collection, versions)

    def unhide(self, collection: str, versions: Sequence[str]) -> None:
        """Delete the entries of hidden versions whose chunks were deleted from the store."""
        with database(), self._engine.begin() as connection:
            unhide_versions(connection, collection, versions)

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
        query = sql.select(columns.digest, columns.chunk).where(
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
                sql.delete(PASSAGES).where(columns.collection == collection, columns.digest.in_(list(chunks)))
            )
            if rows:
                connection.execute(sql.insert(PASSAGES), rows)

    def snapshot(self, collection: str, paths: Sequence[str] | None = None) -> dict[str, DocumentSummary]:
        """Return a summary of every document of the collection, or of those that ``paths`` concern, by id."""
        query = sql.select(*(DOCUMENTS.c[name] for name in DocumentSummary._fields)).where(
            DOCUMENTS.c.collection == collection
        )
        if paths is not None:
            ids = map(document_id, paths)
            query = query.where(sql.or_(DOCUMENTS.c.path.in_(paths), DOCUMENTS.c.id.in_(ids)))

        def read() -> dict[str, DocumentSummary]:
            with database(), self._engine.connect() as connection:
                return {row.id: to_summary(row) for row in connection.execute(query)}

        return self._read(read)

    def get(self, collection: str, document: str) -> DocumentRecord | None:
        """Return the record of a document by its full id, or None."""
        found = self._records(sql.select(DOCUMENTS).where(*is_document(DOCUMENTS, collection, document)))
        return found[0] if found else None

    def find(self, collection: str, reference: str) -> DocumentRecord:
        """Return the document with this id, path or name.

        A relative path, the beginning of an id, or the end of a name is enough.
        Raises DocumentNotFound, and AmbiguousDocument, which lists the candidates.
        """
        columns = DOCUMENTS.c
        within = sql.select(DOCUMENTS).where(columns.collection == collection).order_by(columns.name)
        if known := self.get(collection, reference):  # does not read the other documents
            return known
        spellings = _spellings(reference)
        paths = [*spellings, *([os.path.abspath(reference)] if "/" in reference else [])]
        exact = sql.or_(columns.path.in_(paths), columns.name.in_(spellings))
        found = self._records(within.where(exact)) or self._records(
            within.where(
                sql.or_(
                    columns.id.startswith(reference, autoescape=True),
                    *(columns.name.endswith(f"/{each}", autoescape=True) for each in spellings),
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

    def list(
        self,
        collection: str,
        state: DocumentState | None = None,
        *,
        limit: int | None = None,
        after: str = "",
        warned: bool = False,
    ) -> list[DocumentRecord]:
        """Return the documents of a collection, sorted by name, optionally only those in ``state`` or with warnings.

        With ``limit``, return at most so many, beginning behind the document with the id ``after``.
        """
        columns = DOCUMENTS.c
        query = sql.select(DOCUMENTS).where(columns.collection == collection)
        if state is not None:
            query = query.where(columns.state == state)
        if warned:
            query = query.where(sql.cast(columns.warnings, sql.Text) != "[]")
        if after:
            name = sql.select(columns.name).where(*is_document(DOCUMENTS, collection, after)).scalar_subquery()
            query = query.where(sql.or_(columns.name > name, sql.and_(columns.name == name, columns.id > after)))
        return self._records(query.order_by(columns.name, columns.id).limit(limit))

    def catalogue(
        self, collection: str, *, unread: bool = False, within: Callable[[str], bool] | None = None
    ) -> Iterator[tuple[sql.Row[Any], Own]]:
        """Iterate over the searchable documents of a collection. With ``unread``, iterate over the others.

        They are sorted by name. Files that were left out are in neither list. ``within`` is an optional condition on
        their paths. It is checked before whole rows are read. Yields rows, because records of many documents would take
        seconds. ``metadata``, ``facts`` and ``warnings`` are JSON texts, because many documents have the same.
        """
        columns = DOCUMENTS.c
        left_out = (DocumentState.REMOVED, DocumentState.SKIPPED)
        kind = (columns.chunks == 0, columns.state.not_in(left_out)) if unread else (columns.chunks > 0,)
        wanted = columns.collection == collection, *kind
        listed = [
            sql.cast(columns[name], sql.Text).label(name) if isinstance(columns[name].type, sql.JSON) else columns[name]
            for name in _LISTED
        ]
        query = sql.select(*listed).where(*wanted).order_by(columns.name, columns.id)

        def read() -> tuple[Sequence[sql.Row[Any]], Mapping[str, Own]]:
            with database(), self._engine.connect() as connection:
                if within is None:
                    return connection.execute(query).all(), read_own(connection, collection)
                paths = connection.execute(sql.select(columns.id, columns.path).where(*wanted))
                ids = [row.id for row in paths if within(row.path)]
                found = query.where(columns.id.in_(ids)) if len(ids) <= _REFERENCES else query
                return connection.execute(found).all(), read_own(connection, collection, ids)

        rows, own = self._read(read)
        for row in rows:
            if within is None or within(row.path):
                yield row, own.get(row.id, NOTHING)

    def members(self, collection: str, container: str) -> builtins.list[DocumentRecord]:
        """Return the documents in a container, given by its path, without those that were removed."""
        columns = DOCUMENTS.c
        query = sql.select(DOCUMENTS).where(
            columns.collection == collection, columns.container == container, columns.state != DocumentState.REMOVED
        )
        return self._records(query)

    def searchable(self, collection: str, references: Sequence[str]) -> builtins.list[str]:
        """Return the ids of the indexed documents with these ids or names, sorted by name."""
        columns, found = DOCUMENTS.c, {}
        with database(), self._engine.connect() as connection:
            for start in range(0, len(references), _REFERENCES):
                some = [each for name in references[start : start + _REFERENCES] for each in _spellings(name)]
                query = sql.select(columns.id, columns.name).where(
                    columns.collection == collection,
                    columns.chunks > 0,
                    sql.or_(columns.id.in_(some), columns.name.in_(some)),
                )
                found.update({row.id: (row.name, row.id) for row in connection.execute(query)})
        return sorted(found, key=found.__getitem__)

    def days(self, collections: Sequence[str], documents: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the days (in ISO form) of these documents, by id: of the last file change (UTC), and their own."""
        columns, found = DOCUMENTS.c, defaultdict[str, dict[str, str]](dict)
        with database(), self._engine.connect() as connection:
            for start in range(0, len(documents), _REFERENCES):
                query = sql.select(columns.id, columns.modified).where(
                    columns.collection.in_(collections), columns.id.in_(documents[start : start + _REFERENCES])
                )
                days = ((row.id, document_date((), row.modified)) for row in connection.execute(query))
                for document, day in days:
                    found[document] |= {FILE_DATE: day.isoformat()} if day else {}
            for collection in collections:
                for document, own in read_own(connection, collection, documents).items():
                    found[document] |= {name: str(own.fields[name]) for name in (DATE, *OF_FILES) if name in own.fields}
        return found

    def counts(self) -> dict[str, dict[DocumentState, Count]]:
        """Count documents and chunks by collection and state."""
        counted: defaultdict[str, dict[DocumentState, Count]] = defaultdict(dict)
        columns = DOCUMENTS.c.collection, DOCUMENTS.c.state
        chunks = DOCUMENTS.c.chunks
        numbers = sql.func.count(), sql.func.sum(chunks), sql.func.sum(sql.case((chunks > 0, 1), else_=0))
        query = sql.select(*columns, *numbers).group_by(*columns)
        with database(), self._engine.connect() as connection:
            for collection, state, *found in connection.execute(query):
                known = DocumentState(state) if state in list(DocumentState) else DocumentState.FAILED
                before = counted[collection].get(known, Count(0, 0, 0))
                counted[collection][known] = Count._make(int(sum(each)) for each in zip(before, found, strict=True))
        return dict(counted)

    def indexed(self, collection: str, documents: Sequence[str] = ()) -> Count:
        """Count the indexed documents of a collection, or those among ``documents``, and their chunks."""
        columns = DOCUMENTS.c
        query = sql.select(sql.func.count(), sql.func.coalesce(sql.func.sum(columns.chunks), 0)).where(
            columns.collection == collection, columns.chunks > 0
        )
        with database(), self._engine.connect() as connection:
            found, chunks = connection.execute(query.where(columns.id.in_(documents)) if documents else query).one()
        return Count(found, chunks, found)

    def database_id(self) -> str:
        """Return the id of the database. Processes that share the database have the same id."""
        with database(), self._engine.connect() as connection:
            return str(connection.execute(sql.select(IDENTITY.c.id)).scalar_one())

    def text(self, collection: str, document: str) -> DocumentText:
        """Return the parsed text of a document by its full id. Raises DocumentNotFound if there is none."""
        with database(), self._engine.connect() as connection:
            row = (
                connection.execute(sql.select(TEXTS).where(*is_document(TEXTS, collection, document)))
                .mappings()
                .first()
            )
        if row is None:
            known = self.get(collection, document)
            name, reason = (known.name, known.reason) if known else (document, "")
            why = f": {reason}" if reason else "."
            raise DocumentNotFound(f"Document {name!r} in collection {collection!r} has no parsed text{why}")
        return DocumentText(
            text=row["text"], blocks=BLOCKS.validate_python(row["blocks"]), pages=PAGES.validate_python(row["pages"])
        )

    def keep(self, collection: str, documents: Sequence[DocumentRecord], place: str) -> None:
        """Copy the rows and texts of documents to the bin entry ``place``. Call this before you remove them."""
        with database(), self._engine.begin() as connection:
            for table in _KEPT:
                columns = sql.literal(place), *(column for column in table.c if column.name != "collection")
                for start in range(0, len(documents), _REFERENCES):
                    ids = [each.id for each in documents[start : start + _REFERENCES]]
                    rows = sql.select(*columns).where(
                        *_of_file(table), table.c.collection == collection, table.c.id.in_(ids)
                    )
                    connection.execute(
                        sql.insert(table).from_select(["collection", *(c.name for c in columns[1:])], rows)
                    )

    def restore(self, collection: str, place: str) -> bool:
        """Move documents back from the bin entry ``place``. Return whether one of them had passages."""
        columns = DOCUMENTS.c
        binned = columns.collection == place
        ids = sql.select(columns.id).where(binned)
        with database(), self._engine.begin() as connection:
            had_passages = connection.scalar(sql.select(sql.func.count()).where(binned, columns.chunks > 0))
            for table in _KEPT:
                there = table.c.collection == collection, table.c.id.in_(ids)
                connection.execute(sql.delete(table).where(*_of_file(table), *there))
            for table in _KEPT:
                connection.execute(sql.update(table).where(table.c.collection == place).values(collection=collection))
        return bool(had_passages)

    def forget(self, collection: str) -> None:
        """Delete every row of a collection, after the collection itself was dropped."""
        with database(), self._engine.begin() as connection:
            for table in (DOCUMENTS, TAGS, FIELDS, TEXTS, HIDDEN, CHANGES, PASSAGES, SOURCES):
                connection.execute(sql.delete(table).where(table.c.collection == collection))

    def _update(self, values: dict[str, Any], rows: Sequence[Mapping[str, object]]) -> None:
        """Update documents in one transaction. Each row names the document and the values of one."""
        if rows:
            with database(), self._engine.begin() as connection:
                connection.execute(sql.update(DOCUMENTS).where(*is_given(DOCUMENTS)).values(values), rows)

    def _records(self, query: sql.Select[Any]) -> builtins.list[DocumentRecord]:
        def read() -> builtins.list[DocumentRecord]:
            with database(), self._engine.connect() as connection:
                rows = connection.execute(query).mappings().all()
                own = read_own(connection, rows[0]["collection"], [row["id"] for row in rows]) if rows else {}
            return [to_record(row, own.get(row["id"], NOTHING)) for row in rows]

        return self._read(read)

    def _read(self, read: Callable[[], T]) -> T:
        """Call ``read``. If a row is damaged, mark the document as failed, so that the others can be read."""
        try:
            return read()
        except DamagedRow:
            if not self._mark_damaged():
                raise
            return read()

    def _mark_damaged(self) -> int:
        """Replace the values of damaged rows, and return how many there are. What is indexed stays searchable."""
        damaged = []
        with database(), self._engine.connect() as connection:
            for key in connection.execute(sql.select(DOCUMENTS.c.collection, DOCUMENTS.c.id, DOCUMENTS.c.chunks)).all():
                try:
                    with database():
                        one = sql.select(DOCUMENTS).where(*is_document(DOCUMENTS, key.collection, key.id))
                        to_record(connection.execute(one).mappings().one(), NOTHING)
                except DamagedRow as error:
                    fault = getattr(error.__cause__, "__cause__", None) or error
                    reason = f"{DAMAGED} ({fault}). `candor ingest --retry-failed -c {key.collection}` reads it again."
                    held = key.chunks if isinstance(key.chunks, int) else 1  # not 0: its version stays the same
                    damaged.append({"of": key.collection, "one": key.id, "why": reason, "held": held})
        values = {"reason": sql.bindparam("why"), "chunks": sql.bindparam("held"), "updated_at": datetime.now(UTC)}
        self._update(_EMPTY | values, damaged)
        return len(damaged)

"""Statements of the ledger on many rows, on tags and fields, and the conversion of rows to records.

Tags and fields are stored by document id, so another ingest keeps them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sql
from pydantic import TypeAdapter, ValidationError

from ingest.document import Block, ParsedDocument
from ingest.errors import DamagedRow
from ingest.fields import TAGS as TAGS_FIELD
from ingest.ledger.records import DocumentRecord, DocumentState, DocumentSummary, FieldSource, Stage
from ingest.ledger.schema import CHANGES, DOCUMENTS, FIELDS, HIDDEN, TAGS, TEXTS
from vectorstore.models import PageSpan

_FEW = 1_000  # documents; for more, the tags of the whole collection are read

_IS_ONE = (
    TAGS.c.collection == sql.bindparam("in_collection"),
    TAGS.c.id == sql.bindparam("of"),
    TAGS.c.tag == sql.bindparam("called"),
)


class Own(NamedTuple):
    """What people say of a document."""

    tags: tuple[str, ...]
    fields: dict[str, Any]


NOTHING = Own((), {})


def read_own(connection: sql.Connection, collection: str, documents: Sequence[str] | None = None) -> dict[str, Own]:
    """Return the tags and fields of every document that has some, at least of those among ``documents``, by id."""
    tags: defaultdict[str, set[str]] = defaultdict(set)
    fields: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    some = documents if documents is None or len(documents) <= _FEW else None
    for document, tag in connection.execute(_of(TAGS, (TAGS.c.id, TAGS.c.tag), collection, some)):
        tags[document].add(tag)
    query = _of(FIELDS, (FIELDS.c.id, FIELDS.c.fields), collection, some).order_by(FIELDS.c.source)
    for document, stated in connection.execute(query):
        fields[document] |= {name: tuple(value) if isinstance(value, list) else value for name, value in stated.items()}
        tags[document].update(fields[document].pop(TAGS_FIELD, ()))
    return {each: Own(tuple(sorted(tags[each])), fields.get(each, {})) for each in tags}


def _of(table: sql.Table, columns: Sequence[Any], collection: str, documents: Sequence[str] | None) -> sql.Select[Any]:
    query = sql.select(*columns).where(table.c.collection == collection)
    return query if documents is None else query.where(table.c.id.in_(documents))


def change_fields(
    connection: sql.Connection,
    collection: str,
    source: FieldSource,
    fields: Mapping[str, Mapping[str, Any]],
    *,
    keep: bool,
) -> None:
    """Replace the fields of documents from a source; with ``keep`` only the named ones. Empty texts remove a field."""
    query = _of(FIELDS, (FIELDS.c.id, FIELDS.c.fields), collection, list(fields) if len(fields) <= _FEW else None)
    stored = {each.id: each.fields for each in connection.execute(query.where(FIELDS.c.source == source))}
    rows = []
    for document, given in fields.items():
        before = stored.get(document, {})
        merged = (before if keep else {}) | dict(given)
        merged = {name: list(value) if isinstance(value, tuple) else value for name, value in merged.items()}
        if (wanted := {name: value for name, value in merged.items() if value not in ("", [])}) != before:
            rows.append({"collection": collection, "id": document, "source": source, "fields": wanted})
    if rows:
        is_one = FIELDS.c.collection == collection, FIELDS.c.id == sql.bindparam("of"), FIELDS.c.source == source
        connection.execute(sql.delete(FIELDS).where(*is_one), [{"of": row["id"]} for row in rows])
        insert_rows(connection, FIELDS, [row for row in rows if row["fields"]])


def change_tags(
    connection: sql.Connection, collection: str, documents: Sequence[str], *, add: Sequence[str], remove: Sequence[str]
) -> None:
    """Add and remove tags of documents. Ignores added tags that exist and removed tags that do not."""
    changed = [
        {"in_collection": collection, "of": document, "called": tag}
        for document in dict.fromkeys(documents)
        for tag in {*add, *remove}
    ]
    if changed:
        connection.execute(sql.delete(TAGS).where(*_IS_ONE), changed)
    added = [
        {"collection": collection, "id": document, "tag": tag} for document in dict.fromkeys(documents) for tag in add
    ]
    if added:
        connection.execute(sql.insert(TAGS), added)


def copy_own(connection: sql.Connection, collection: str, sources: Mapping[str, str]) -> None:
    """Add what people gave documents to others. ``sources`` maps each other document to the one that it gets it from.

    Fields that files state are not copied.
    """
    holders = list(dict.fromkeys(sources.values()))
    tags: defaultdict[str, list[str]] = defaultdict(list)
    for document, tag in connection.execute(_of(TAGS, (TAGS.c.id, TAGS.c.tag), collection, holders)):
        tags[document].append(tag)
    given = connection.execute(_of(FIELDS, (FIELDS.c.id, FIELDS.c.source, FIELDS.c.fields), collection, holders)).all()
    for target, holder in sources.items():
        change_tags(connection, collection, [target], add=tags[holder], remove=())
        for document, source, fields in given:
            if document == holder and source != FieldSource.FILE:
                change_fields(connection, collection, FieldSource(source), {target: fields}, keep=True)


BLOCKS = TypeAdapter(tuple[Block, ...])
PAGES = TypeAdapter(tuple[PageSpan, ...])


def is_document(
    table: sql.Table, collection: str, document: str
) -> tuple[sql.ColumnElement[bool], sql.ColumnElement[bool]]:
    """Return the condition that a row belongs to the document."""
    return table.c.collection == collection, table.c.id == document


def delete_rows(connection: sql.Connection, table: sql.Table, documents: Sequence[DocumentRecord]) -> None:
    """Delete the rows of the documents from the table."""
    keys = [{"of": each.collection, "one": each.id} for each in documents]
    if keys:
        connection.execute(sql.delete(table).where(*is_given(table)), keys)


def insert_rows(connection: sql.Connection, table: sql.Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert the rows, if there are any."""
    if rows:
        connection.execute(sql.insert(table), rows)


def is_given(table: sql.Table) -> tuple[sql.ColumnElement[bool], sql.ColumnElement[bool]]:
    """Return a condition with two parameters: the row belongs to document ``one`` of collection ``of``."""
    return table.c.collection == sql.bindparam("of"), table.c.id == sql.bindparam("one")


def hide_versions(connection: sql.Connection, collection: str, versions: Mapping[str, str]) -> None:
    """Hide versions, which are mapped to documents. An empty version stands for none."""
    rows = [
        {"collection": collection, "edition": version, "document": document}
        for version, document in versions.items()
        if version
    ]
    if rows:
        unhide_versions(connection, collection, list(versions))
        connection.execute(sql.insert(HIDDEN), rows)
        incremented = sql.update(CHANGES).where(CHANGES.c.collection == collection).values(number=CHANGES.c.number + 1)
        if not connection.execute(incremented).rowcount:
            connection.execute(sql.insert(CHANGES).values(collection=collection, number=1))


def unhide_versions(connection: sql.Connection, collection: str, versions: Sequence[str]) -> None:
    """Delete the entries of hidden versions. An empty version stands for none."""
    rows = [{"of": collection, "version": version} for version in versions if version]
    if rows:
        shown = HIDDEN.c.collection == sql.bindparam("of"), HIDDEN.c.edition == sql.bindparam("version")
        connection.execute(sql.delete(HIDDEN).where(*shown), rows)


def remove_documents(
    connection: sql.Connection, collection: str, documents: Sequence[DocumentRecord | DocumentSummary], reason: str
) -> None:
    """Mark documents as removed, delete their texts and everything read from them, and hide their versions."""
    removed: dict[str, Any] = {
        "state": DocumentState.REMOVED, "reason": reason, "chunks": 0, "tokens": 0, "updated_at": datetime.now(UTC),
        "title": "", "metadata": {}, "facts": {}, "warnings": [],
    }  # fmt: skip
    keys = [{"of": collection, "one": each.id} for each in documents]
    if keys:
        connection.execute(sql.update(DOCUMENTS).where(*is_given(DOCUMENTS)).values(removed), keys)
        connection.execute(sql.delete(TEXTS).where(*is_given(TEXTS)), keys)
        connection.execute(sql.delete(FIELDS).where(*is_given(FIELDS), FIELDS.c.source == FieldSource.FILE), keys)
        hide_versions(connection, collection, {each.index_version: each.id for each in documents})


def to_row(record: DocumentRecord) -> dict[str, Any]:
    """Return the row of the table of documents."""
    return record.model_dump(exclude={"tags", "fields"})


def to_record(row: sql.RowMapping, own: Own) -> DocumentRecord:
    """Return the record of a row, with what people say of the document. Raises DamagedRow."""
    try:
        return DocumentRecord(**{**row, "updated_at": utc(row["updated_at"]), **own._asdict()})
    except ValidationError as error:
        fault = error.errors()[0]
        raise DamagedRow(f"its {fault['loc'][0]} is {fault['input']!r}") from error


def to_summary(row: sql.Row[Any]) -> DocumentSummary:
    """Return the summary of a row with its columns. Raises DamagedRow."""
    summary = DocumentSummary._make(row)
    try:
        _ = summary.size + summary.modified + summary.chunks + summary.read_at + summary.attempts  # SQLite checks none
        return summary._replace(state=DocumentState(summary.state), stage=Stage(summary.stage))
    except (TypeError, ValueError) as error:
        raise DamagedRow(str(error)) from error


def utc(time: datetime) -> datetime:
    """Add the time zone that SQLite does not store."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def to_text_row(record: DocumentRecord, parsed: ParsedDocument) -> dict[str, object]:
    """Return the row of the table of texts."""
    return {
        "collection": record.collection,
        "id": record.id,
        "text": parsed.text,
        "blocks": BLOCKS.dump_python(parsed.blocks, mode="json"),
        "pages": PAGES.dump_python(parsed.pages, mode="json"),
    }

"""Statements of the ledger on many rows, and on tags, and the conversion of rows to records.

Tags are stored by document id, so another ingest keeps them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, Connection, Row, RowMapping, Table, bindparam, delete, insert, select, update

from ingest.document import Block, ParsedDocument
from ingest.errors import InvalidTag, LedgerUnavailable
from ingest.ledger.records import DocumentRecord, DocumentState, DocumentSummary, Stage
from ingest.ledger.schema import CHANGES, DOCUMENTS, HIDDEN, TAGS, TEXTS
from vectorstore.models import PageSpan

LONGEST_TAG = 64
"""Maximum characters of a tag."""

_FEW = 1_000  # documents; for more, the tags of the whole collection are read

_IS_ONE = (
    TAGS.c.collection == bindparam("in_collection"),
    TAGS.c.id == bindparam("of"),
    TAGS.c.tag == bindparam("called"),
)


def tag_names(written: Iterable[str]) -> tuple[str, ...]:
    """Return the tags in lower case with single spaces, each once, sorted. Raises InvalidTag."""
    names = {" ".join(each.split()).casefold() for each in written}
    for name in names:
        if not name or "," in name or len(name) > LONGEST_TAG:
            raise InvalidTag(f"{name!r} cannot be a tag: use 1 to {LONGEST_TAG} characters and no comma.")
    return tuple(sorted(names))


def read_tags(
    connection: Connection, collection: str, documents: Sequence[str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the tags of every tagged document, at least of those among ``documents``, by document id."""
    found: defaultdict[str, tuple[str, ...]] = defaultdict(tuple)
    query = select(TAGS.c.id, TAGS.c.tag).where(TAGS.c.collection == collection).order_by(TAGS.c.id, TAGS.c.tag)
    if documents is not None and len(documents) <= _FEW:
        query = query.where(TAGS.c.id.in_(documents))
    for document, tag in connection.execute(query):
        found[document] += (tag,)
    return dict(found)


def change_tags(
    connection: Connection, collection: str, documents: Sequence[str], *, add: Sequence[str], remove: Sequence[str]
) -> None:
    """Add and remove tags of documents. Ignores added tags that exist and removed tags that do not."""
    changed = [
        {"in_collection": collection, "of": document, "called": tag}
        for document in dict.fromkeys(documents)
        for tag in {*add, *remove}
    ]
    if changed:
        connection.execute(delete(TAGS).where(*_IS_ONE), changed)
    added = [
        {"collection": collection, "id": document, "tag": tag} for document in dict.fromkeys(documents) for tag in add
    ]
    if added:
        connection.execute(insert(TAGS), added)


def copy_tags(connection: Connection, collection: str, sources: Mapping[str, str]) -> None:
    """Add the tags of documents to others. ``sources`` maps each other document to the one that it gets tags from."""
    tags = read_tags(connection, collection, list(dict.fromkeys(sources.values())))
    for target, source in sources.items():
        if source in tags:
            change_tags(connection, collection, [target], add=tags[source], remove=())


BLOCKS = TypeAdapter(tuple[Block, ...])
PAGES = TypeAdapter(tuple[PageSpan, ...])


def is_document(table: Table, collection: str, document: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return the condition that a row belongs to the document."""
    return table.c.collection == collection, table.c.id == document


def delete_rows(connection: Connection, table: Table, documents: Sequence[DocumentRecord]) -> None:
    """Delete the rows of the documents from the table."""
    keys = [{"of": each.collection, "one": each.id} for each in documents]
    if keys:
        connection.execute(delete(table).where(*is_given(table)), keys)


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Insert the rows, if there are any."""
    if rows:
        connection.execute(insert(table), rows)


def is_given(table: Table) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Return a condition with two parameters: the row belongs to document ``one`` of collection ``of``."""
    return table.c.collection == bindparam("of"), table.c.id == bindparam("one")


def hide_versions(connection: Connection, collection: str, versions: Mapping[str, str]) -> None:
    """Hide versions, which are mapped to documents. An empty version stands for none."""
    rows = [
        {"collection": collection, "edition": version, "document": document}
        for version, document in versions.items()
        if version
    ]
    if rows:
        unhide_versions(connection, collection, list(versions))
        connection.execute(insert(HIDDEN), rows)
        incremented = update(CHANGES).where(CHANGES.c.collection == collection).values(number=CHANGES.c.number + 1)
        if not connection.execute(incremented).rowcount:
            connection.execute(insert(CHANGES).values(collection=collection, number=1))


def unhide_versions(connection: Connection, collection: str, versions: Sequence[str]) -> None:
    """Delete the entries of hidden versions. An empty version stands for none."""
    rows = [{"of": collection, "version": version} for version in versions if version]
    if rows:
        shown = HIDDEN.c.collection == bindparam("of"), HIDDEN.c.edition == bindparam("version")
        connection.execute(delete(HIDDEN).where(*shown), rows)


def remove_documents(
    connection: Connection, collection: str, documents: Sequence[DocumentRecord | DocumentSummary], reason: str
) -> None:
    """Mark documents as removed, delete their texts and hide their versions."""
    removed: dict[str, Any] = {
        "state": DocumentState.REMOVED, "reason": reason, "chunks": 0, "tokens": 0, "updated_at": datetime.now(UTC)
    }  # fmt: skip
    keys = [{"of": collection, "one": each.id} for each in documents]
    if keys:
        connection.execute(update(DOCUMENTS).where(*is_given(DOCUMENTS)).values(removed), keys)
        connection.execute(delete(TEXTS).where(*is_given(TEXTS)), keys)
        hide_versions(connection, collection, {each.index_version: each.id for each in documents})


def to_row(record: DocumentRecord) -> dict[str, Any]:
    """Return the row of the table of documents."""
    return record.model_dump(exclude={"tags"})


def to_record(row: RowMapping, tags: tuple[str, ...]) -> DocumentRecord:
    """Return the record of a row and the document's tags. Raises LedgerUnavailable if the row is damaged."""
    try:
        return DocumentRecord(**{**row, "updated_at": _utc(row["updated_at"]), "tags": tags})
    except ValidationError as error:
        fault = error.errors()[0]
        raise LedgerUnavailable(
            f"The row of the document {row['name']!r} in the database is damaged: its {fault['loc'][0]} is "
            f"{fault['input']!r}. Searches still work. Restore a backup (`candor restore`), or drop the collection "
            f"{row['collection']!r} and ingest it again."
        ) from error


def to_summary(row: Row[Any]) -> DocumentSummary:
    """Return the summary of a row with its columns."""
    summary = DocumentSummary._make(row)
    return summary._replace(state=DocumentState(summary.state), stage=Stage(summary.stage))


def _utc(time: datetime) -> datetime:
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

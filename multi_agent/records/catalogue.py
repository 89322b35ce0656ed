"""The documents of a collection as a table for SQL: what is known of each file, without its contents."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath

from multi_agent.library import CatalogueEntry
from multi_agent.records.table import Column
from vectorstore.models import FieldValue

DOCUMENTS = "documents"
"""Name of the table."""


def _stated(*names: str) -> Callable[[CatalogueEntry], object]:
    """Return a function that returns the first of these fields that a document has."""
    return lambda entry: next((entry.metadata[name] for name in names if name in entry.metadata), None)


COLUMNS: dict[str, tuple[str, Callable[[CatalogueEntry], object]]] = {
    "name": ("VARCHAR", lambda entry: entry.name),
    "folder": ("VARCHAR", lambda entry: str(PurePath(entry.path).parent) if entry.path else ""),
    "type": ("VARCHAR", lambda entry: entry.type),
    "title": ("VARCHAR", lambda entry: entry.title),
    "author": ("VARCHAR", _stated("author", "authors")),
    "kind": ("VARCHAR", _stated("kind")),
    "issuer": ("VARCHAR", _stated("issuer")),
    "period": ("VARCHAR", _stated("period")),
    "date": ("DATE", lambda entry: entry.stated),
    "file_date": ("DATE", lambda entry: entry.changed),
    "pages": ("BIGINT", lambda entry: entry.pages or None),
    "sheets": ("BIGINT", _stated("sheets")),
    "rows": ("BIGINT", _stated("rows")),
    "passages": ("BIGINT", lambda entry: entry.chunks),
    "tags": ("VARCHAR", lambda entry: ", ".join(entry.tags)),
    "language": ("VARCHAR", lambda entry: entry.language),
    "state": ("VARCHAR", lambda entry: entry.state),
    "warnings": ("VARCHAR", lambda entry: "; ".join(filter(None, (entry.reason, *entry.warnings)))),
}
"""The type and the value of each column. An empty text is null. ``date`` is what the document states."""
METADATA = "metadata"
"""The column of all metadata. The list of documents in a prompt names it, if people gave documents metadata."""


def catalogue_columns(entries: Sequence[CatalogueEntry]) -> tuple[Column, ...]:
    """Return the columns of the table, with a row for each document."""
    columns = COLUMNS | {METADATA: ("MAP(VARCHAR, VARCHAR)", lambda entry: _as_map(entry.metadata))}
    return tuple(
        Column(name=name, type=kind, meaning="", values=tuple(_text(value(entry)) for entry in entries))
        for name, (kind, value) in columns.items()
    )


def _as_map(fields: Mapping[str, FieldValue]) -> str:
    """Return the fields as DuckDB reads them."""
    pairs = ((_quoted(name), _quoted(_text(value) or "")) for name, value in fields.items())
    return "{" + ", ".join("=".join(pair) for pair in pairs) + "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _text(value: object) -> str | None:
    if isinstance(value, tuple):
        return ", ".join(value)
    return None if value in ("", None) else str(value)

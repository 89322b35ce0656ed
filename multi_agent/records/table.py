"""The extracted records as a table with rows in a stable order and typed columns.

Decides which records belong to the table and how their values are typed. A value that does not fit its column is never
guessed: it is null there, appears as text in an additional column, and is reported as a flaw. ``sql.py`` runs queries
over the table.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from base.models import FrozenModel
from multi_agent.records.numbers_and_dates import read_date, read_number
from multi_agent.values.context import Evidence, Record, RecordField, ResearchContext
from vectorstore.models import Scalar

T = TypeVar("T")
ORIGIN = ("record", "document", "page")
"""Columns with the source of a record; the other columns are its fields."""

_LIST = "list"
_OF_LIST = "list of the row. Columns of other lists are NULL. Join lists by their items"
_SHOWN = 80  # characters of a value in a flaw
_MAX_DIGITS = 30  # of the 38 of a DECIMAL; the others are left for sums
_BOOLEAN = TypeAdapter(bool)


class Flaw(FrozenModel):
    """A value that does not fit the type of its column."""

    record: int
    document: str
    column: str
    value: str
    reason: str

    def __str__(self) -> str:
        value = self.value if len(self.value) <= _SHOWN else self.value[:_SHOWN] + "…"
        return f"record {self.record} ({self.document}): {self.column} is {value!r}, {self.reason}"


class Column(FrozenModel):
    """One column: its SQL type, and its values as text that SQL can cast, or null."""

    name: str
    type: str
    meaning: str
    values: tuple[str | None, ...]


class RecordTable(FrozenModel):
    """All records with verified evidence that have the current fields or are of a list.

    Row ``i`` is record ``i + 1``.
    """

    columns: tuple[Column, ...]
    evidence: tuple[Evidence, ...]
    further: tuple[tuple[Evidence, ...], ...]
    flaws: tuple[Flaw, ...]
    left_out: int

    def __len__(self) -> int:
        return len(self.evidence)


class Row(NamedTuple):
    """A record, the quote that it was extracted from, and further quotes if it has several."""

    record: Record
    evidence: Evidence
    further: tuple[Evidence, ...]


def locate_records(context: ResearchContext) -> list[Row]:
    """Return the distinct records that have evidence, by document and position.

    A span can be part of two passages, for example the heading of a split table. It counts once, as spans are compared
    by document.
    """
    documents = {chunk.id: chunk.document_id for chunk in context.chunks}
    evidence = {item.place: item for item in context.evidence}
    rows: dict[tuple[int, str], Row] = {}
    for record in context.records:
        spans = ((record.chunk_id, record.start, record.end), *record.also)
        item, *further = (evidence.get((documents.get(chunk_id, ""), start, end)) for chunk_id, start, end in spans)
        if item is not None:
            row = Row(record, item, tuple(filter(None, further)))
            rows.setdefault((item.number, repr(sorted(record.values.items()))), row)
    return [rows[key] for key in sorted(rows)]


def current_records(context: ResearchContext) -> list[Row]:
    """Return the records with evidence that have exactly the current record fields or belong to a list."""
    names, lists = {field.name for field in context.record_fields}, {each.step for each in context.lists}
    return [row for row in locate_records(context) if row.record.list in lists or row.record.values.keys() == names]


def build_table(context: ResearchContext) -> RecordTable:
    """Return the records as a table: record, document and page, then the fields, then texts of flawed values."""
    fields, rows = _fields(context), current_records(context)
    evidence = tuple(row.evidence for row in rows)
    columns, flaws = list(_origin_columns(evidence)), []
    if len({row.record.list for row in rows}) > 1:
        lists = tuple(row.record.list or None for row in rows)
        columns.append(Column(name=_LIST, type="VARCHAR", meaning=_OF_LIST, values=lists))
    for field in fields:
        name = _unused_name(field.name, "_value", columns)
        column, unfit = _typed_column(field, name, [row.record.values.get(field.name) for row in rows], evidence)
        columns.append(column)
        flaws.extend(unfit)
    for column in tuple(columns):
        if unfit := [flaw for flaw in flaws if flaw.column == column.name]:
            columns.append(_text_column(column, _unused_name(f"{column.name}_text", "_value", columns), unfit))
    left_out = len(context.records) - len(rows)
    further = tuple(row.further for row in rows)
    return RecordTable(
        columns=tuple(columns), evidence=evidence, further=further, flaws=tuple(flaws), left_out=left_out
    )


def _fields(context: ResearchContext) -> list[RecordField]:
    """Return the current fields and those of all lists. A field that lists define differently becomes a text field."""
    named: dict[str, list[RecordField]] = {}
    for field in (*context.record_fields, *(field for each in context.lists for field in each.fields)):
        if field not in named.setdefault(field.name, []):
            named[field.name].append(field)
    return [
        RecordField(
            name=name,
            type=alike[0].type if len({field.type for field in alike}) == 1 else "text",
            meaning="; or ".join(field.meaning for field in alike),
        )
        for name, alike in named.items()
    ]


def _origin_columns(evidence: Sequence[Evidence]) -> tuple[Column, ...]:
    pages = (str(item.pages[0]) if item.pages else None for item in evidence)
    columns: Iterable[tuple[str, str, str, Iterable[str | None]]] = (
        ("record", "BIGINT", "number of this row", map(str, range(1, len(evidence) + 1))),
        ("document", "VARCHAR", "document that it was read from", (item.name for item in evidence)),
        ("page", "BIGINT", "page in it, if it has pages", pages),
    )
    return tuple(Column(name=name, type=kind, meaning=why, values=tuple(values)) for name, kind, why, values in columns)


def _typed_column(
    field: RecordField, name: str, values: Sequence[Scalar | None], evidence: Sequence[Evidence]
) -> tuple[Column, list[Flaw]]:
    """Return the column of a field, and a flaw for each value that does not fit it."""
    read: list[Scalar | Decimal | date | None] = []
    flaws = []
    for number, (value, item) in enumerate(zip(values, evidence, strict=True), start=1):
        try:
            read.append(None if value is None else _READERS[field.type](value))
        except _Unfit as unfit:
            read.append(None)
            flaws.append(Flaw(record=number, document=item.name, column=name, value=_as_text(value), reason=str(unfit)))
    kind = _SQL_TYPES.get(field.type) or _number_type([value for value in read if isinstance(value, Decimal)])
    texts = tuple(None if value is None else _as_text(value) for value in read)
    return Column(name=name, type=kind, meaning=field.meaning, values=texts), flaws


def _text_column(column: Column, name: str, unfit: Sequence[Flaw]) -> Column:
    """Return a column with the values that did not fit ``column``."""
    written = {flaw.record: flaw.value for flaw in unfit}
    return Column(
        name=name,
        type="VARCHAR",
        meaning=f"what is written where {column.name} is null because that is no {column.type}",
        values=tuple(written.get(number) for number in range(1, len(column.values) + 1)),
    )


def _unused_name(name: str, suffix: str, columns: Iterable[Column]) -> str:
    """Return the name with as many suffixes as needed to be unique."""
    taken = {column.name for column in columns}
    while name in taken:
        name += suffix
    return name


class _Unfit(Exception):
    """A value does not fit its type. The message is the reason."""


def _number(value: Scalar) -> Decimal:
    if isinstance(value, bool):
        raise _Unfit("no number")
    number = _only(read_number(value), "number") if isinstance(value, str) else Decimal(repr(value))
    if not math.isfinite(float(number)):
        raise _Unfit("no number of a size that can be computed with")
    return number


def _boolean(value: Scalar) -> bool:
    try:
        return _BOOLEAN.validate_python(value)
    except ValidationError:
        raise _Unfit("neither true nor false") from None


def _only(readings: frozenset[T], kind: str) -> T:
    if not readings:
        raise _Unfit(f"no {kind}")
    if len(readings) > 1:
        raise _Unfit("which can be read as " + " or as ".join(sorted(map(str, readings))))
    return next(iter(readings))


def _number_type(values: Sequence[Decimal]) -> str:
    """Return the narrowest SQL type that holds the numbers and their sum exactly, or DOUBLE if none does."""
    whole = max((value.adjusted() + 1 for value in values), default=1)
    scale = max((-int(value.as_tuple().exponent) for value in values), default=0)
    if max(whole, 1) + max(scale, 0) > _MAX_DIGITS:
        return "DOUBLE"
    return "BIGINT" if scale <= 0 and whole <= 18 else f"DECIMAL({max(18, whole + scale)},{max(scale, 0)})"


def _as_text(value: object) -> str:
    """Return the value as text that SQL can cast."""
    if isinstance(value, bool):
        return str(value).lower()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


_READERS: dict[str, Callable[[Scalar], Scalar | Decimal | date]] = {
    "text": _as_text,
    "number": _number,
    "date": lambda value: _only(read_date(_as_text(value)), "full date"),
    "boolean": _boolean,
}
_SQL_TYPES = {"text": "VARCHAR", "date": "DATE", "boolean": "BOOLEAN"}

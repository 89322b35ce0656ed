"""The extracted records as a table: rows in a stable order, columns of one type each, and what did not fit its type.

Owns which records are of the same kind, and how their values are typed. A value that does not fit is never converted
by guessing: it is null in its column, stands as text in a column beside it, and is a flaw that people are told of.
What is computed from the table is ``computing.py``'s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from multi_agent.context import Evidence, Record, RecordField, ResearchContext
from multi_agent.records.numbers_and_dates import read_date, read_number
from vectorstore.models import FrozenModel, Scalar

T = TypeVar("T")
ORIGIN = ("record", "document", "page")
"""Columns that tell where a record comes from; the others are its fields."""

_SHOWN = 80  # characters of a value in a flaw
_EXACT_DIGITS = 30  # of a DECIMAL, which has 38: the others are room for sums
_TRUTH = TypeAdapter(bool)


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
    """One column: its SQL type, and its values as SQL reads them from text, null where there is none."""

    name: str
    type: str
    meaning: str
    values: tuple[str | None, ...]


class RecordTable(FrozenModel):
    """All records of the current fields that stand on verified evidence; row ``i`` is record ``i + 1``."""

    columns: tuple[Column, ...]
    evidence: tuple[Evidence, ...]
    flaws: tuple[Flaw, ...]
    left_out: int

    def __len__(self) -> int:
        return len(self.evidence)


class Row(NamedTuple):
    """A record with the quote that it was read from."""

    record: Record
    evidence: Evidence


def locate_records(context: ResearchContext) -> list[Row]:
    """The records in order of document and position, each once, without those that no evidence stands behind.

    A span that lies in two passages, as the heading of a split table does, is one place: it is known by its document.
    """
    documents = {chunk.id: chunk.document_id for chunk in context.chunks}
    evidence = {item.place: item for item in context.evidence}
    rows: dict[tuple[int, str], Row] = {}
    for record in context.records:
        item = evidence.get((documents.get(record.chunk_id, ""), record.start, record.end))
        if item is not None:
            rows.setdefault((item.number, repr(sorted(record.values.items()))), Row(record, item))
    return [rows[key] for key in sorted(rows)]


def current_records(context: ResearchContext) -> list[Row]:
    """The located records that have the current record fields, all of them and no others."""
    names = {field.name for field in context.record_fields}
    return [row for row in locate_records(context) if row.record.values.keys() == names]


def build_table(context: ResearchContext) -> RecordTable:
    """The context's records as a table: the columns record, document and page, then the fields, then texts of flaws."""
    fields, rows = context.record_fields, current_records(context)
    evidence = tuple(row.evidence for row in rows)
    columns, flaws = list(_origin(evidence)), []
    for field in fields:
        name = _free_name(field.name, "_value", columns)
        column, unfit = _typed(field, name, [row.record.values[field.name] for row in rows], evidence)
        columns.append(column)
        flaws.extend(unfit)
    for column in tuple(columns):
        if unfit := [flaw for flaw in flaws if flaw.column == column.name]:
            columns.append(_texts(column, _free_name(f"{column.name}_text", "_value", columns), unfit))
    left_out = len(context.records) - len(rows)
    return RecordTable(columns=tuple(columns), evidence=evidence, flaws=tuple(flaws), left_out=left_out)


def _origin(evidence: Sequence[Evidence]) -> tuple[Column, ...]:
    pages = (str(item.pages[0]) if item.pages else None for item in evidence)
    columns: Iterable[tuple[str, str, str, Iterable[str | None]]] = (
        ("record", "BIGINT", "number of this row", map(str, range(1, len(evidence) + 1))),
        ("document", "VARCHAR", "document that it was read from", (item.name for item in evidence)),
        ("page", "BIGINT", "page in it, if it has pages", pages),
    )
    return tuple(Column(name=name, type=kind, meaning=why, values=tuple(values)) for name, kind, why, values in columns)


def _typed(
    field: RecordField, name: str, values: Sequence[Scalar | None], evidence: Sequence[Evidence]
) -> tuple[Column, list[Flaw]]:
    """The column of a field, and the values that do not fit it."""
    read: list[Scalar | Decimal | date | None] = []
    flaws = []
    for number, (value, item) in enumerate(zip(values, evidence, strict=True), start=1):
        try:
            read.append(None if value is None else _READERS[field.type](value))
        except _Unfit as unfit:
            read.append(None)
            flaws.append(Flaw(record=number, document=item.name, column=name, value=_plain(value), reason=str(unfit)))
    kind = _SQL_TYPES.get(field.type) or _number_type([value for value in read if isinstance(value, Decimal)])
    texts = tuple(None if value is None else _plain(value) for value in read)
    return Column(name=name, type=kind, meaning=field.meaning, values=texts), flaws


def _texts(column: Column, name: str, unfit: Sequence[Flaw]) -> Column:
    """The column that keeps what did not fit another one."""
    written = {flaw.record: flaw.value for flaw in unfit}
    return Column(
        name=name,
        type="VARCHAR",
        meaning=f"what is written where {column.name} is null because that is no {column.type}",
        values=tuple(written.get(number) for number in range(1, len(column.values) + 1)),
    )


def _free_name(name: str, suffix: str, columns: Iterable[Column]) -> str:
    """The name, lengthened until no column has it."""
    taken = {column.name for column in columns}
    while name in taken:
        name += suffix
    return name


class _Unfit(Exception):
    """Why a value does not fit its type, in a few words."""


def _number(value: Scalar) -> Decimal:
    if isinstance(value, bool):
        raise _Unfit("no number")
    number = _only(read_number(value), "number") if isinstance(value, str) else Decimal(repr(value))
    if not math.isfinite(float(number)):
        raise _Unfit("no number of a size that can be computed with")
    return number


def _date(value: Scalar) -> date:
    return _only(read_date(_plain(value)), "full date")


def _truth(value: Scalar) -> bool:
    try:
        return _TRUTH.validate_python(value)
    except ValidationError:
        raise _Unfit("neither true nor false") from None


def _only(readings: frozenset[T], kind: str) -> T:
    if not readings:
        raise _Unfit(f"no {kind}")
    if len(readings) > 1:
        raise _Unfit("which can be read as " + " or as ".join(sorted(map(str, readings))))
    return next(iter(readings))


def _number_type(values: Sequence[Decimal]) -> str:
    """The narrowest type that holds the numbers exactly, with room for their sum; DOUBLE where none does."""
    whole = max((value.adjusted() + 1 for value in values), default=1)
    scale = max((-int(value.as_tuple().exponent) for value in values), default=0)
    if max(whole, 1) + max(scale, 0) > _EXACT_DIGITS:
        return "DOUBLE"
    return "BIGINT" if scale <= 0 and whole <= 18 else f"DECIMAL({max(18, whole + scale)},{max(scale, 0)})"


def _plain(value: object) -> str:
    """As SQL reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


_READERS: dict[str, Callable[[Scalar], Scalar | Decimal | date]] = {
    "text": _plain,
    "number": _number,
    "date": _date,
    "boolean": _truth,
}
_SQL_TYPES = {"text": "VARCHAR", "date": "DATE", "boolean": "BOOLEAN"}

"""Writes values of data files into a builder: fields with their labels, lists, and records of one form as tables."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from ingest.decoding import without_escapes
from ingest.readers.data.rich_text import is_rich_text, write_rich_text
from ingest.readers.data.values import COMMENT, Record, Value
from ingest.readers.markup.element_writer import plain_text
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.kreuzberg_library import mime_type_by_content
from ingest.readers.text import write_text

_MAX_DEPTH = 100
_LONG = 200  # characters: longer values are paragraphs of their own
_MAX_CELL = 500  # characters
_MAX_COLUMNS = 20
_FEW = 6  # fields of an inner record that are written among those of the outer one
_FILLED = 0.5  # share of the cells of a table that have a value
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SHORTEST_ENCODED, _MIN_ENCODED = 64, 500  # characters
_ENCODED = re.compile(
    r"(?:data:[\w/+.;=-]{1,100},)?(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d)(?:[\w+/-]{40,}+\s*+)++[\w+/-]*={0,2}\s*",
    re.ASCII,
)
"""A file in base64: runs of characters that are longer than words."""
ENCODED_WARNING = "{:,} values are encoded files or keys (base64) and were left out."

Fields: TypeAlias = list[tuple[str, str]]
"""Labels with their values."""


def write_values(values: Sequence[Value], into: DocumentBuilder) -> None:
    """Add the values of a file to the builder. Raises ValueError if they are nested too deeply."""
    writer = _Writer(into)
    shown = [writer.shown(value, 0) for value in values]
    documents: list[Value] = [value for value in shown if not isinstance(value, str)]
    writer.write(documents[0] if len(documents) == 1 else documents, "", 1)
    for text in shown:
        if isinstance(text, str):
            into.code(text)
    writer.warn()


def is_encoded(text: str) -> bool:
    """Return whether a text is base64: a long one, an address of data, or a short one that begins like a file."""
    text = text.strip()
    if len(text) < _SHORTEST_ENCODED or not _ENCODED.fullmatch(text):
        return False
    if len(text) >= _MIN_ENCODED or text.startswith("data:"):
        return True
    start = "".join(text.split())[:48].replace("-", "+").replace("_", "/")
    return mime_type_by_content(base64.b64decode(start)) not in (None, "text/plain")


class _Writer:
    """Writes values whose scalars are all text."""

    def __init__(self, into: DocumentBuilder) -> None:
        self._into = into
        self._encoded = 0

    def warn(self) -> None:
        """Warn about values that were left out."""
        if self._encoded:
            self._into.warn(ENCODED_WARNING.format(self._encoded))

    def shown(self, value: Value, depth: int) -> Value:
        """Return a value with all its scalars as text. Rich text keeps its blanks and types."""
        if depth > _MAX_DEPTH:
            raise ValueError(f"it is nested more than {_MAX_DEPTH} deep")
        if is_rich_text(value):
            return value
        if isinstance(value, Record):
            labels = (" ".join(self._decoded(key).split()) for key, _ in value.fields)
            values = (self.shown(each, depth + 1) for _, each in value.fields)
            return Record(tuple(zip(labels, values, strict=True)))
        if isinstance(value, list):
            return [self.shown(each, depth + 1) for each in value]
        if isinstance(value, str):
            return plain_text(self._decoded(without_escapes(value)))  # a value may be JSON of its own
        return "null" if value is None else str(value).lower()

    def _decoded(self, text: str) -> str:
        """Return a text as valid Unicode, or ``[...]`` for base64."""
        is_left_out = is_encoded(text)
        self._encoded += is_left_out
        return "[...]" if is_left_out else _LONE_SURROGATE.sub("\ufffd", text)

    def write(self, value: Value, name: str, level: int) -> None:
        """Write a value below its heading. ``level`` is the level of headings in it, ``name`` its key."""
        if is_rich_text(value):
            write_rich_text(value, self._into)
        elif isinstance(value, Record):
            self._write_record(value, level)
        elif isinstance(value, list):
            self._write_list(value, name, level)
        else:
            write_text(str(value), self._into)

    def _write_record(self, record: Record, level: int) -> None:
        """Write the short values first: after the heading of an inner record they would be part of it."""
        rows = _table([Record((("", key), *each.fields)) for key, each in record.fields if isinstance(each, Record)])
        if rows and len(rows) - 1 == len(record.fields) > 2:
            self._into.table(rows)
            return
        fields, sections = _split(record)
        self._write_fields(fields)
        for key, value, comments in sections:
            self._into.heading(key or '""', level)
            self._write_fields(comments)
            self.write(value, key, level + 1)

    def _write_fields(self, fields: Fields) -> None:
        lines: list[str] = []
        for label, text in fields:
            line = f"{label} {text}" if label == COMMENT else f"{label}: {text}"
            if _is_long(text):
                self._into.prose("\n".join(lines))
                write_text(line, self._into)
                lines = []
            else:
                lines.append(line)
        self._into.prose("\n".join(lines))

    def _write_list(self, items: list[Value], name: str, level: int) -> None:
        lines = [line for item in items if (line := _line(item)) is not None]
        if all(isinstance(item, str) for item in items):
            self._write_texts(lines)
        elif rows := _table(items):
            self._into.table(rows)
        elif rows := _matrix(items):
            self._into.table(rows, has_header=not _has_digits(rows[0]) and any(map(_has_digits, rows)))
        elif len(lines) == len(items):
            self._into.list_items([f"- {line}" for line in lines])
        else:
            for number, item in enumerate(items, 1):
                self._into.heading(f"{name} {number}", level)
                self.write(item, f"{name} {number}", level + 1)

    def _write_texts(self, texts: list[str]) -> None:
        if (joined := _joined(texts)) is not None:
            self._into.prose(joined)
        elif any(_is_long(text) for text in texts):
            for text in texts:
                write_text(text, self._into)
        else:
            self._into.list_items([f"- {text}" for text in texts])


def _split(record: Record) -> tuple[Fields, list[tuple[str, Value, Fields]]]:
    """Return the short values of a record, and the others. Each has the comments before it."""
    fields: Fields = []
    sections: list[tuple[str, Value, Fields]] = []
    comments: Fields = []
    for key, value in record.fields:
        inner = _leaves(Record(((key, value),)), _FEW)
        if key == COMMENT:
            comments += inner or []
            continue
        if inner is None:
            sections.append((key, value, comments))
        else:
            fields += comments + inner
        comments = []
    return fields + comments, sections


def _is_long(text: str) -> bool:
    return len(text) > _LONG or "\n" in text


def _joined(texts: Sequence[Value]) -> str | None:
    """Return short texts on one line, or None."""
    if len(texts) > _LONG and any(isinstance(text, str) and " " in text for text in texts):
        return None  # too long: do not join the same texts at each level around them
    if not all(isinstance(text, str) and "\n" not in text for text in texts):
        return None
    separator = "; " if any("," in str(text) for text in texts) else ", "
    joined = separator.join(map(str, texts))
    is_clear = separator == ", " or not any(";" in str(text) for text in texts)
    return joined if is_clear and (len(joined) <= _LONG or " " not in "".join(map(str, texts))) else None


def _line(item: Value) -> str | None:
    """Return an item of a list on one line, or None if it is too long."""
    if isinstance(item, str):
        return item
    if isinstance(item, list):
        return _joined(item)
    leaves = _leaves(item, _FEW) if isinstance(item, Record) else None
    line = ", ".join(f"{label}: {text}" for label, text in leaves) if leaves else None
    return None if line is None or _is_long(line) else line


def _has_digits(row: Sequence[str]) -> bool:
    return any(character.isdecimal() for cell in row for character in cell)


def _leaves(record: Record, limit: int) -> Fields | None:
    """Return all values in a record with the path of their keys, or None if there are more, or long ones."""
    found = list(islice(_walk(record, ""), limit + 1))
    leaves = [(label, text) for label, text in found if text is not None]
    return leaves if len(leaves) == len(found) <= limit else None


def _walk(record: Record, prefix: str) -> Iterator[tuple[str, str | None]]:
    for key, value in record.fields:
        if isinstance(value, str):
            yield prefix + key, value
        elif is_rich_text(value):
            yield prefix + key, None
        elif isinstance(value, list):
            yield prefix + key, _joined(value) if value else "[]"
        elif isinstance(value, Record) and value.fields:
            yield from _walk(value, f"{prefix}{key}.")
        else:
            yield prefix + key, "{}"


def _table(records: Sequence[Value]) -> list[list[str]]:
    """Return records as the rows of a table below their labels, or nothing if they have no common form."""
    rows: list[dict[str, str]] = []
    for record in records:
        leaves = _leaves(record, _MAX_COLUMNS) if isinstance(record, Record) else None
        if leaves is None or any(len(text) > _MAX_CELL or "\n\n" in text for _, text in leaves):
            return []
        row: dict[str, str] = {}
        for label, text in leaves:
            row[label] = f"{row[label]}; {text}" if label in row else text
        rows.append(row)
    columns = list(dict.fromkeys(label for row in rows for label in row))
    cells = sum(map(len, rows))
    if len(rows) < 2 or len(columns) > _MAX_COLUMNS or cells < _FILLED * len(rows) * len(columns):
        return []
    return [columns, *([row.get(column, "") for column in columns] for row in rows)]


def _matrix(rows: Sequence[Value]) -> list[list[str]]:
    """Return lists of texts as the rows of a table, or nothing if they are not lists of texts."""
    cells = [row for row in rows if isinstance(row, list) and all(isinstance(cell, str) for cell in row)]
    texts = [[str(cell) for cell in row] for row in cells]
    return texts if len(texts) == len(rows) > 1 and max(map(len, texts)) <= _MAX_COLUMNS else []

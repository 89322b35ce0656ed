"""Parses TOML with its comments."""

from __future__ import annotations

from collections.abc import Iterator

from tomlkit import items, parse
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError

from ingest.decoding import Warn
from ingest.readers.data.values import COMMENT, Record, Value


def toml_values(text: str, _: Warn) -> list[Value]:
    """Return the value of a TOML file. Raises ValueError."""
    try:
        return [Record(tuple(_fields(parse(text))))]
    except TOMLKitError as error:
        raise ValueError(str(error)) from error


def _fields(container: Container) -> Iterator[tuple[str, Value]]:
    for key, item in container.body:
        if isinstance(item, items.Whitespace | items.Null):
            continue
        comment = item.trivia.comment.lstrip("# ")
        value = _value(item)
        if comment and key and isinstance(value, str):
            value += f" {COMMENT} {comment}"
        elif comment:
            yield COMMENT, comment
        if key:
            yield key.key, value


def _value(item: object) -> Value:
    match item:
        case items.Table() | items.InlineTable():
            return Record(tuple(_fields(item.value)))
        case items.AoT():
            return [_value(table) for table in item.body]
        case items.Array():
            return list(_items(item))
        case items.String():
            return str(item)
        case items.Item():
            return item.as_string()
        case _:
            return str(item)


def _items(array: items.Array) -> Iterator[Value]:
    for group in array._value:  # iterating over the array loses its comments
        value = None if group.value is None else _value(group.value)
        comment = f"{COMMENT} {group.comment.trivia.comment.lstrip('# ')}" if group.comment else ""
        if isinstance(value, str):
            yield f"{value} {comment}".strip()
        else:
            yield from (each for each in (value, comment) if each)

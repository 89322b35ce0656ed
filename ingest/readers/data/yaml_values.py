"""Parses YAML with its comments. Aliases are replaced by what they stand for, within a limit.

Reads events, because the library's own loader converts numbers, loses repeated keys and comments, and recurses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.decoding import Warn
from ingest.readers.data.values import COMMENT, Record, Value

if TYPE_CHECKING:
    from yaml.events import Event

_COMMENT = re.compile(r"#+[ \t]*([^\n]*)")
_REPEATED, _REPEATED_SHARE = 10_000, 4
"""Aliases may repeat this many characters, or this multiple of the file: a few lines can stand for gigabytes."""
_MERGE = "<<"


def yaml_values(text: str, warn: Warn) -> list[Value]:
    """Return the values of the documents in a YAML file. Raises ValueError."""
    import yaml

    builder = _Builder(text, warn)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.add(event)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    return builder.documents


@dataclass
class _Open:
    """A collection that is not complete. The items of a mapping are its keys and values in turn."""

    is_mapping: bool
    anchor: str | None
    items: list[Value] = field(default_factory=list)


class _Builder:
    """Builds values from the events of the parser."""

    def __init__(self, text: str, warn: Warn) -> None:
        self.documents: list[Value] = []
        self._text, self._warn = text, warn
        self._open: list[_Open] = []
        self._anchors: dict[str, Value] = {}
        self._comments: list[str] = []
        self._end = 0
        self._may_repeat = max(_REPEATED, _REPEATED_SHARE * len(text))

    def add(self, event: Event) -> None:
        """Add an event, with the comments before it."""
        from yaml import events

        self._read_comments(event)
        match event:
            case events.MappingStartEvent() | events.SequenceStartEvent():
                self._open.append(_Open(isinstance(event, events.MappingStartEvent), event.anchor))
            case events.ScalarEvent():
                tag = f"{event.tag} " if (event.tag or "").startswith("!") and event.tag != "!" else ""
                self._add_value(tag + event.value, event.anchor)
            case events.AliasEvent():
                self._add_value(self._repeat(str(event.anchor)), None)
            case events.MappingEndEvent() | events.SequenceEndEvent():
                self._close()
            case events.DocumentEndEvent() if self._comments and self.documents:
                self.documents.append("\n".join(f"{COMMENT} {text}" for text in self._comments))
                self._comments = []

    def _read_comments(self, event: Event) -> None:
        """Collect the comments before an event. One on the line of a value is part of the value."""
        found = list(_COMMENT.finditer(self._text, self._end, getattr(event.start_mark, "index", self._end)))
        self._end = getattr(event.end_mark, "index", self._end)
        items = self._open[-1].items if self._open else []
        is_value = bool(items) and (not self._open[-1].is_mapping or len(items) % 2 == 0)
        if found and is_value and isinstance(items[-1], str) and items[-1] and "\n" not in items[-1]:
            line_start = self._text.rfind("\n", 0, found[0].start())
            if self._text[line_start + 1 : found[0].start()].strip(" \t,"):
                items[-1] += f" {COMMENT} {found.pop(0)[1]}"
        self._comments += [comment[1].strip() for comment in found if comment[1].strip()]

    def _add_value(self, value: Value, anchor: str | None) -> None:
        if anchor:
            self._anchors[anchor] = value
        if not self._open:
            self.documents.append(value)
            return
        items, is_mapping = self._open[-1].items, self._open[-1].is_mapping
        if self._comments and (not is_mapping or len(items) % 2 == 0):
            text = " ".join(self._comments)
            items += [COMMENT, text] if is_mapping else [f"{COMMENT} {text}"]
            self._comments = []
        items.append(value)

    def _close(self) -> None:
        done = self._open.pop()
        comments, self._comments = self._comments, []
        self._add_value(_record(done.items) if done.is_mapping else done.items, done.anchor)
        self._comments = comments

    def _repeat(self, name: str) -> Value:
        """Return the value of an alias, or its name if the value contains it or would repeat too much."""
        value = self._anchors.get(name, f"*{name}")
        left = self._may_repeat
        self._may_repeat -= _size(value, left)
        if self._may_repeat > 0:
            return value
        if left > 0:
            self._warn("The aliases of the file repeat too much: the last ones are written by their names.")
        return f"*{name}"


def _record(items: list[Value]) -> Record:
    """Return a mapping. Fields that it merges from another one (``<<``) are its own, unless it has them."""
    keys = [key if isinstance(key, str) else str(key) for key in items[::2]]
    fields: list[tuple[str, Value]] = []
    for key, value in zip(keys, items[1::2], strict=True):
        sources = value if isinstance(value, list) else [value]
        if key == _MERGE and all(isinstance(source, Record) for source in sources):
            merged = [pair for source in sources if isinstance(source, Record) for pair in source.fields]
            fields += [pair for pair in merged if pair[0] not in keys]
        else:
            fields.append((key, value))
    return Record(tuple(fields))


def _size(value: Value, limit: int) -> int:
    """Return the number of values and characters in a value, or at least the limit if there are more."""
    size, rest = 0, [value]
    while rest and size < limit:
        each = rest.pop()
        size += len(each) + 1 if isinstance(each, str) else 1
        rest += each if isinstance(each, list) else [one for _, one in each.fields] if isinstance(each, Record) else []
    return size

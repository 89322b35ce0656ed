"""Writes rich text in JSON: the nodes of ProseMirror, in which Box Notes, Jira, Confluence and Tiptap store text."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeGuard
from xml.etree.ElementTree import Element

from ingest.readers.data.values import Record, Value
from ingest.readers.markup.element_writer import ElementWriter
from ingest.readers.shared.document_builder import DocumentBuilder

_HTML: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_INLINE = {"text", "mention", "emoji", "status", "inlinecard"}
_SHOWN = ("text", "title", "alt", "url")
"""Attributes of nodes without content that a program shows as their text, the first of them that is there."""


def is_rich_text(value: Value) -> TypeGuard[Record]:
    """Return whether a value is the root of a document of ProseMirror."""
    if not isinstance(value, Record) or value.get("type") != "doc":
        return False
    nodes = value.get("content")
    return isinstance(nodes, list) and all(isinstance(node, Record) and node.get("type") for node in nodes)


def write_rich_text(root: Record, into: DocumentBuilder) -> None:
    """Add the blocks of a document of ProseMirror to the builder."""
    ElementWriter(into, is_page=True).write(_element(root), depth=1)


def _element(node: Record) -> Element:
    attributes = _attributes(node)
    name = str(node.get("type")).lower().replace("_", "")
    inner = Element(_tag(name, attributes), {key: value for key, value in attributes.items() if isinstance(value, str)})
    inner.extend(map(_element, _records(node, "content")))
    inner.text = f"{_box(name, attributes)}{_text(node, attributes)}"
    if name == "orderedlist":
        inner.set("start", str(attributes.get("start") or attributes.get("order") or "1"))
    for mark in _records(node, "marks"):
        inner = _marked(inner, mark)
    return inner


def _records(node: Record, key: str) -> list[Record]:
    values = node.get(key)
    return [value for value in values if isinstance(value, Record)] if isinstance(values, list) else []


def _tag(name: str, attributes: dict[str, Value]) -> str:
    if name == "heading":
        return f"h{attributes.get('level') or 1}"
    return _HTML["tags"].get(name, "span" if name in _INLINE else "div")


def _attributes(owner: Record) -> dict[str, Value]:
    found = owner.get("attrs")
    return dict(found.fields) if isinstance(found, Record) else {}


def _text(node: Record, attributes: dict[str, Value]) -> str:
    """Return the text of a node. A node such as a mention or a picture has it in an attribute."""
    shown = (value for key in _SHOWN if isinstance(value := attributes.get(key), str))
    text = node.get("text") or next(shown, "")
    return f"{text}" if isinstance(text, str) else ""


def _box(name: str, attributes: dict[str, Value]) -> str:
    """Return the box of an item of a check list."""
    if name not in ("checklistitem", "taskitem"):
        return ""
    return "[x] " if attributes.get("checked") is True or attributes.get("state") == "DONE" else "[ ] "


def _marked(inner: Element, mark: Record) -> Element:
    attributes = _attributes(mark)
    name = str(attributes.get("type") if mark.get("type") == "subsup" else mark.get("type")).lower()
    outer = Element(_HTML["marks"].get(name, "span"), {"href": str(attributes.get("href") or "")})
    outer.append(inner)
    return outer

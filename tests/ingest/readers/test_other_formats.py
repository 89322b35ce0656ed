"""The nodes of kreuzberg become blocks: lists keep their numbers and levels, tables their cells."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.readers.other_formats import _metadata, _NodeWriter
from ingest.readers.shared.document_builder import DocumentBuilder


def write(*nodes: dict[str, Any]) -> str:
    into = DocumentBuilder()
    _NodeWriter(nodes, into, into.prose).write()
    return into.text


def node(kind: str, text: str = "", children: tuple[int, ...] = (), **more: Any) -> dict[str, Any]:
    """Return a node. ``layer`` and ``parent`` belong to the node, other fields to its content."""
    around = {name: more.pop(key) for key, name in (("layer", "content_layer"), ("parent", "parent")) if key in more}
    return {"content": {"node_type": kind, "text": text, **more}, "children": children, **around}


@pytest.mark.parametrize("kind", ["paragraph", "formula", "footnote", "definition_item", "citation", "code"])
def test_the_text_of_a_node_is_kept(kind: str) -> None:
    assert write(node(kind, "The pump is blue.")) == "The pump is blue."


@pytest.mark.parametrize("layer", ["header", "footer"])
def test_running_heads_are_left_out(layer: str) -> None:
    assert write(node("paragraph", "Page 1", layer=layer), node("paragraph", "Blue.", layer="body")) == "Blue."


def test_lists_keep_their_numbers_and_levels() -> None:
    text = write(
        node("list", children=(1, 2, 5), ordered=True), node("list_item", "first", parent=0),
        node("list", children=(3, 4), ordered=False, parent=0), node("list_item", "inner", parent=2),
        node("list_item", "other", parent=2), node("list_item", "second\nline", parent=0),
    )  # fmt: skip
    assert text == "1. first\n  - inner\n  - other\n2. second line"
    assert write(node("list_item", "alone")) == "- alone"


def test_tables_keep_their_cells() -> None:
    cells = [{"row": 0, "col": 0, "content": "Pump"}, {"row": 1, "col": 1, "content": "42"}]
    assert write(node("table", grid={"rows": 2, "cols": 2, "cells": cells})) == "| Pump |  |\n| --- | --- |\n|  | 42 |"


def test_metadata_are_plain_values() -> None:
    found = {"title": "Pumps", "authors": ["Ada", "Bo"], "subject": "", "created_at": None, "unknown": "x"}
    assert _metadata(found) == {"title": "Pumps", "authors": "Ada, Bo"}

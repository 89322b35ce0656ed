"""Reads every format without a reader of its own with kreuzberg, and damaged files of some others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.encryption import require_unencrypted
from ingest.readers.shared.kreuzberg_library import LIBRARY, Node, extract
from vectorstore.models import Scalar

_METADATA = ("title", "subject", "authors", "created_at", "modified_at", "language")


def read_other_format(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks to the builder. Return its title and properties."""
    return read_nodes(request, into, into.prose)


def read_nodes(
    request: ReadRequest, into: DocumentBuilder, write_paragraph: Callable[[str], None]
) -> dict[str, Scalar]:
    """Extract the document and add its nodes to the builder. Return its metadata.

    ``write_paragraph`` adds a paragraph.
    """
    require_unencrypted(request.data, request.path)
    extraction = extract(request.data, request.path, request.mime_type)
    _NodeWriter(extraction.nodes, into, write_paragraph).write()
    return _metadata(extraction.metadata)


def _metadata(found: Mapping[str, Any]) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {}
    for key in _METADATA:
        value = found.get(key)
        if isinstance(value, list):
            value = ", ".join(str(part) for part in value)
        if isinstance(value, str | int | float | bool) and value != "":
            values[key] = value
    return values


class _NodeWriter:
    """Writes a flat list of nodes, which point to their parents, into a builder."""

    def __init__(self, nodes: Sequence[Node], into: DocumentBuilder, write_paragraph: Callable[[str], None]) -> None:
        self._nodes, self._into, self._write_paragraph = nodes, into, write_paragraph

    def write(self) -> None:
        """Write the top-level nodes in order. A list is written with its items."""
        for index, node in enumerate(self._nodes):
            if node.get("content_layer") not in ("header", "footer"):
                self._write(index, node)

    def _write(self, index: int, node: Node) -> None:
        content = node["content"]
        match content["node_type"]:
            case "title" | "heading":
                self._into.heading(content["text"], content.get("level", 1))
            case "list" if not self._inside_list(node):
                self._into.list_items(self._list_lines(index, depth=0))
            case "list_item" if node.get("parent") is None:
                self._into.list_items([f"- {content['text']}"])
            case "table":
                self._into.table(_rows(content["grid"]))
            case "code":
                self._into.code(content["text"])
            case "metadata_block":
                self._into.prose("\n".join(f"{key}: {value}" for key, value in content["entries"]))
            case "image":
                self._into.prose(content.get("description") or "")
            case "slide":  # not a page, because in old files one node contains many slides; the title is the first text
                self._into.prose(content.get("title") or "")
            case "paragraph":
                self._write_paragraph(content.get("text", ""))
            case "formula" | "footnote" | "definition_item" | "citation":
                self._into.prose(content.get("text", ""))

    def _inside_list(self, node: Node) -> bool:
        parent = node.get("parent")
        return parent is not None and self._nodes[parent]["content"]["node_type"] in ("list", "list_item")

    def _list_lines(self, index: int, depth: int) -> list[str]:
        ordered = self._nodes[index]["content"].get("ordered", False)
        lines: list[str] = []
        number = 0
        for child in self._nodes[index].get("children", []):
            content = self._nodes[child]["content"]
            if content["node_type"] == "list":
                lines += self._list_lines(child, depth + 1)
            else:
                number += 1
                mark = f"{number}. " if ordered else "- "
                lines.append("  " * depth + mark + " ".join(content.get("text", "").split()))
        return lines


def _rows(grid: Mapping[str, Any]) -> list[list[str]]:
    rows = [[""] * grid["cols"] for _ in range(grid["rows"])]
    for cell in grid["cells"]:
        rows[cell["row"]][cell["col"]] = cell["content"]
    return rows


READER = Reader(
    name="other_formats",
    version=1,
    read=read_other_format,
    mime_types=("*", "image/*+json"),  # vector images are text
    library=LIBRARY,
)

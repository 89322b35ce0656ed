"""Reads Markdown: headings, paragraphs, lists, tables and code, without emphasis markup.

kreuzberg's Markdown reader omits the text of list items with a nested list.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.element_writer import write_html_fragment
from ingest.readers.shared.decoding import decode
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
_FRONT_MATTER_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_TAG = re.compile(r"<[^>]*>")


def read_markdown(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks to the builder; return the title of its front matter."""
    return {"title": write_markdown(decode(request.data, request.path), into)}


def write_markdown(source: str, into: DocumentBuilder) -> str:
    """Add the blocks of Markdown source to the builder; return the title of its front matter, or ``""``."""
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    front = _FRONT_MATTER.match(source)
    if front:
        into.prose(front[1])
        source = source[front.end() :]
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    _add_children(SyntaxTreeNode(parser.parse(source)).children, into)
    title = _FRONT_MATTER_TITLE.search(front[1]) if front else None
    return title[1].strip("\"'") if title else ""


def _add_children(nodes: Sequence[SyntaxTreeNode], into: DocumentBuilder) -> None:
    for node in nodes:
        _add(node, into)


def _add(node: SyntaxTreeNode, into: DocumentBuilder) -> None:
    match node.type:
        case "heading":
            into.heading(_inline(node), int(node.tag[1:]))
        case "paragraph":
            into.prose(_inline(node))
        case "bullet_list" | "ordered_list":
            into.list_items(list(_list_lines(node, depth=0)))
        case "table":
            into.table([[_inline(cell) for cell in row.children] for part in node.children for row in part.children])
        case "fence" | "code_block":
            into.code(node.content)
        case "html_block":
            write_html_fragment(node.content, into)
        case _:
            _add_children(node.children, into)


def _list_lines(node: SyntaxTreeNode, depth: int) -> Iterator[str]:
    """Yield the lines of a list, nested ones indented. Other blocks of an item follow on lines of their own."""
    indent = "  " * depth
    number = int(node.attrs.get("start", 1))
    for item in node.children:
        mark = f"{number}. " if node.type == "ordered_list" else "- "
        number += 1
        for child in item.children:
            if child.type in ("bullet_list", "ordered_list"):
                yield from _list_lines(child, depth + 1)
            else:
                for line in _plain(child).splitlines():
                    yield indent + mark + line
                    mark = " " * len(mark)


def _plain(node: SyntaxTreeNode) -> str:
    """Return all text of a block inside a list item."""
    if node.type in ("fence", "code_block"):
        return node.content
    if node.type == "html_block":
        return _without_tags(node.content)
    if node.type in ("paragraph", "heading", "inline"):
        return _inline(node)
    return "\n".join(_plain(child) for child in node.children)


def _inline(node: SyntaxTreeNode) -> str:
    """Return inline text without emphasis markup and link targets. Images become their description."""
    if not node.children:
        return node.content if node.type in ("text", "code_inline", "image") else _break_or_tag(node)
    return "".join(_inline(child) for child in node.children)


def _break_or_tag(node: SyntaxTreeNode) -> str:
    if node.type == "softbreak":
        return "\n"
    if node.type == "hardbreak" or (node.type == "html_inline" and node.content.startswith("<br")):
        return "\n"
    return ""


def _without_tags(source: str) -> str:
    return html.unescape(_TAG.sub("", source))


READER = Reader(name="markdown", version=1, read=read_markdown, mime_types=("text/markdown", "text/mdx", "text/x-djot"))

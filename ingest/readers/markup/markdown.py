"""Reads Markdown: headings, paragraphs, lists, tables and code, without emphasis markup.

kreuzberg's Markdown reader omits the text of list items with a nested list.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.decoding import decode, without_escapes
from ingest.fields import LONGEST_TAG
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.element_writer import APART, is_html, write_html_fragment
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.form import is_useful_link, linked, lowered, raised, struck
from ingest.readers.text import FRONT_MATTER, read_front_matter
from vectorstore.models import Scalar

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.tree import SyntaxTreeNode

_NOTE_TAG = re.compile(r"(?<!\S)#([\w/-]*[^\W\d][\w/-]*)")
"""A tag in a note: `#project/orion`. It has a letter, so `#1` is none."""
_ESCAPED = re.compile(r"\\#([\w/-]+)")
_HTML_TAG = re.compile(
    r"""<(?P<closing>/?)(?P<name>[A-Za-z][\w-]*)(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+)|\s+(?:hidden|open))*\s*(?P<empty>/?)>"""
)
"""A tag whose attributes, if any, have values: ``<b and c>`` is no tag, but a comparison."""
_ADDRESS = re.compile(r"""\bhref\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_DESCRIPTION = re.compile(r"""\balt\s*=\s*(["'])(.*?)\1""", re.IGNORECASE | re.DOTALL)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|\shidden\b[^=]*>", re.IGNORECASE)
_BLOCKS = {*APART, "h1", "h2", "h3", "h4", "h5", "h6"}
_VOID = {"br", "hr", "img", "wbr", "input"}
_FORMS = {"sup": raised, "sub": lowered, "s": struck, "del": struck, "strike": struck}


def read_markdown(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks, tags and fields to the builder; return the title of its front matter."""
    source = decode(request.data, request.path, into.warn)
    tree = write_markdown(source, into)
    title = read_front_matter(source, into)
    into.tag(_tags(tree, source))
    return {"title": title}


def write_markdown(source: str, into: DocumentBuilder) -> SyntaxTreeNode:
    """Add the blocks of Markdown source to the builder; return its tree."""
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    if front := FRONT_MATTER.match(source):
        into.prose(without_escapes(front[1]))
        source = source[front.end() :]
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.block.ruler.at("reference", _reference, {"alt": []})
    tree = SyntaxTreeNode(parser.parse(source))
    _add_children(tree.children, into)
    return tree


def _tags(tree: SyntaxTreeNode, source: str) -> list[str]:
    """Return the tags in the text. Code and addresses have none, and a backslash makes text of one."""
    texts = (node.content for node in tree.walk() if node.type == "text")
    found = (tag.rstrip("/-") for text in texts for tag in _NOTE_TAG.findall(text))
    escaped = _ESCAPED.findall(source)
    return [tag for tag in found if tag not in escaped and len(tag) <= LONGEST_TAG]


def _reference(state: StateBlock, line: int, last_line: int, silent: bool) -> bool:
    """Read the definition of a link. A note of one word looks the same, but is text."""
    from markdown_it.rules_block import reference

    is_note = state.src.startswith("[^", state.bMarks[line] + state.tShift[line])
    return not is_note and reference(state, line, last_line, silent)


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
        case "html_block" if (tag := _HTML_TAG.match(node.content.lstrip())) and not is_html(tag["name"]):
            into.prose(node.content)
        case "html_block":
            _write_html(node.content, into)
        case _:
            _add_children(node.children, into)


def _write_html(source: str, into: DocumentBuilder) -> None:
    """Write a block of HTML. Unknown tags, such as in ``List<String>``, are written as text."""
    plain = _HTML_TAG.sub(lambda tag: tag[0] if is_html(tag["name"]) else html.escape(tag[0]), source)
    write_html_fragment(plain, into)


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
        page = DocumentBuilder()
        _write_html(node.content, page)
        return page.text.replace("\n\n", "\n")
    if node.type in ("paragraph", "heading", "inline"):
        return _inline(node)
    return "\n".join(_plain(child) for child in node.children)


def _inline(node: SyntaxTreeNode) -> str:
    """Return inline text without emphasis markup. Images become their description, links keep useful addresses."""
    match node.type:
        case "text" | "code_inline" | "image":
            return node.content
        case "softbreak" | "hardbreak":
            return "\n"
        case "s":
            return struck(_inline_children(node))
        case "link":
            address = str(node.attrs.get("href", ""))
            return linked(_inline_children(node), address) if is_useful_link(address) else _inline_children(node)
        case _:
            return _inline_children(node)


def _inline_children(node: SyntaxTreeNode) -> str:
    """Return the text of all children. Tags count as HTML if they are known there and open and close."""
    opened = [_Tag("", "")]
    for child in node.children:
        tag = _HTML_TAG.fullmatch(child.content) if child.type == "html_inline" else None
        if tag is None:
            is_tag = child.type == "html_inline"
            text = child.content if is_tag else _inline(child)
            opened[-1].parts.append("" if is_tag and text.startswith("<!--") else text)
        elif not is_html(tag["name"]):
            opened[-1].parts.append(child.content)
        elif tag["name"].lower() in _VOID or tag["empty"]:
            description = _DESCRIPTION.search(child.content)
            breaks = "\n" if tag["name"].lower() in ("br", "hr") else ""
            opened[-1].parts.append(html.unescape(description[2]) if description else breaks)
        elif not tag["closing"]:
            opened.append(_Tag(tag["name"].lower(), child.content))
        elif any(each.name == tag["name"].lower() for each in opened):
            while opened[-1].name != tag["name"].lower():
                _close_unmatched(opened)
            closed = opened.pop()
            opened[-1].parts.append(closed.formed())
        else:
            opened[-1].parts.append(child.content)
    while len(opened) > 1:
        _close_unmatched(opened)
    return "".join(opened[0].parts)


def _close_unmatched(opened: list[_Tag]) -> None:
    """Turn the last opened tag, which is never closed, into the text that it is."""
    last = opened.pop()
    opened[-1].parts += [last.source, *last.parts]


@dataclass
class _Tag:
    """A tag of HTML inside a line, and the text after it so far."""

    name: str
    source: str
    parts: list[str] = field(default_factory=list)

    def formed(self) -> str:
        """Return the text with the form that the tag gives it."""
        text = "".join(self.parts)
        if self.name in ("script", "style", "rt", "rp") or _HIDDEN.search(self.source):
            return ""
        if self.name in _BLOCKS:
            return f"\n{text}\n"
        if self.name == "a" and (address := _ADDRESS.search(self.source)) and is_useful_link(address[1]):
            return linked(text, address[1])
        return _FORMS.get(self.name, str)(text)


READER = Reader(name="markdown", version=8, read=read_markdown, mime_types=("text/markdown", "text/mdx", "text/x-djot"))

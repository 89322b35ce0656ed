"""Reads Markdown, with HTML in it, as the page that it stands for. kreuzberg omits items with a nested list."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ingest.decoding import decode, without_escapes
from ingest.fields import LONGEST_TAG
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.element_writer import is_html, write_html_fragment
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.text import FRONT_MATTER, read_front_matter
from vectorstore.models import Scalar

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

_NOTE_TAG = re.compile(r"(?<!\S)#([\w/-]*[^\W\d][\w/-]*)")
"""A tag in a note: `#project/orion`. It has a letter, so `#1` is none."""
_ESCAPED = re.compile(r"\\#([\w/-]+)")
_HTML_TAG = re.compile(
    r"""<(?P<closing>/?)(?P<name>[A-Za-z][\w-]*)(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+)|\s+(?:hidden|open))*\s*(?P<empty>/?)>"""
)
"""A tag whose attributes, if any, have values: ``<b and c>`` is no tag, but a comparison."""
_VOID = {"br", "hr", "img", "wbr", "input"}


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
    parser.add_render_rule("html_inline", _inline_html)
    parser.add_render_rule("html_block", _block_of_html)
    tokens = parser.parse(source)
    write_html_fragment(parser.renderer.render(tokens, parser.options, {}), into)
    return SyntaxTreeNode(tokens)


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


def _block_of_html(_: object, tokens: Sequence[Token], at: int, *__: object) -> str:
    """Return a block of HTML. Unknown tags, such as in ``List<String>``, are text."""
    return _HTML_TAG.sub(lambda tag: tag[0] if is_html(tag["name"]) else html.escape(tag[0]), tokens[at].content)


def _inline_html(_: object, tokens: Sequence[Token], at: int, *__: object) -> str:
    """Return a tag inside a line. It is text unless HTML knows it and it opens and closes there."""
    source = tokens[at].content
    tag = _HTML_TAG.fullmatch(source)
    if tag is None:
        return source if source.startswith("<!--") else html.escape(source)
    is_alone = tag["name"].lower() in _VOID or tag["empty"]
    beside = tokens[:at] if tag["closing"] else tokens[at + 1 :]
    has_other = any(each.type == "html_inline" and _pairs(tag, each.content) for each in beside)
    return source if is_html(tag["name"]) and (is_alone or has_other) else html.escape(source)


def _pairs(tag: re.Match[str], other: str) -> bool:
    """Return whether two tags open and close one element."""
    found = _HTML_TAG.fullmatch(other)
    return bool(found and found["name"].lower() == tag["name"].lower() and found["closing"] != tag["closing"])


READER = Reader(name="markdown", version=9, read=read_markdown, mime_types=("text/markdown", "text/mdx", "text/x-djot"))

"""Parses HTML and XML as found in practice: unclosed elements, undefined entities, wrong encodings.

lxml decides where unclosed elements of HTML end. The standard library's ``html.parser`` leaves that to its user, and
takes quadratic time for unclosed comments.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from html.entities import html5
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, TreeBuilder

from ingest.decoding import Warn, decode, decode_declared
from ingest.readers.markup.page_form import keep

_MAX_DEPTH = 200  # of nested elements
_NOT_CONTENT = {"head", "nav", "button", "select", "option", "input", "textarea", "iframe"}
_NOT_DRAWN = {"defs", "metadata", "symbol", "title"}  # elements of drawings with names of icons and patterns
_VOID = re.compile(r"""(?i)</?(?:source|track|wbr)(?=[\s/>])(?:=\s*(["'])(?:(?!\1)[^<]|<(?![a-z/]))*+\1|[^<>])*+>""")
"""Elements of HTML 5 without content. lxml does not know them and would put what follows them inside."""
_CHARSET = re.compile(
    rb"""(?i)<(meta|\?xml)\b[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?\s*(?!utf-?16)([a-z0-9_:.-]{2,40})"""
)
"""The declared encoding of a page or an XML file, which is not UTF-16 if its declaration is in ASCII."""
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{0,31});")
_GREEK: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""Greek letters by the names that publishers and patent offices give them."""


def xml_tree(data: bytes, path: Path, warn: Warn) -> Element:
    """Parse an XML document. If it is not well-formed, ``warn`` and return the elements that can be recognised."""
    parser = ElementTree.XMLParser()
    parser.entity.update(_entities(data))
    source = decode_markup(data, path, warn)
    try:
        parser.feed(source)  # as text, because the parser does not know the encodings of East Asia
        return parser.close()
    except (ElementTree.ParseError, ValueError) as error:
        warn(f"The file is not well-formed XML ({error}); it was read like HTML.")
        return html_tree(source)


def html_tree(source: str) -> Element:
    """Parse a page, or a fragment of one."""
    from lxml.etree import HTMLParser

    parser = HTMLParser(target=_Builder(), huge_tree=True)
    parser.feed(_VOID.sub("", source).encode("utf-8", "replace").decode("utf-8"))  # lxml rejects lone surrogates
    tree: Element = parser.close()
    return tree


def decode_markup(data: bytes, path: Path, warn: Warn) -> str:
    """Decode a page or an XML file in its declared encoding, or in one that fits if that is missing or wrong."""
    found = _CHARSET.finditer(data[:2048]) if data[:1] not in (b"\xef", b"\xfe", b"\xff") else ()
    declared = max(found, key=lambda each: each[1].lower() == b"meta", default=None)  # as browsers do
    text = decode_declared(data, declared[2].decode("ascii"), warn) if declared else None
    return decode(data, path, warn) if text is None else text


def prune(element: Element) -> None:
    """Remove the head, menus and controls of a page, and what drawings in it do not show."""
    for child in element:
        prune(child)
    keep(element, lambda child: child.tag not in _NOT_CONTENT and child.get("role") != "navigation")
    keep(element, lambda child: child.tag != "dialog" or child.get("open") is not None)
    for shown in element.findall("dialog"):
        shown.tag = "div"
    name = element.tag.rpartition(":")[2]
    if name == "svg":
        keep(element, lambda child: child.tag.rpartition(":")[2] not in _NOT_DRAWN)
        element.tag = "div" if "".join(element.itertext()).strip() else "span"
    elif name in ("text", "desc"):
        element.tag = "p"


def _entities(data: bytes) -> dict[str, str]:
    """Return the text of each named entity in the document. Their definitions are not fetched."""
    names = {name.decode() for name in _ENTITY.findall(data)}
    return {name: _GREEK.get(name) or html5.get(f"{name};", f" {name} ") for name in names}


class _Builder:
    """Builds a tree of limited depth from the events of lxml's parser, which has no limit on its own."""

    def __init__(self) -> None:
        self._builder = TreeBuilder()
        self._builder.start("html", {})
        self._depth = 1

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._depth < _MAX_DEPTH:
            self._builder.start(tag, dict(attributes))
        self._depth += 1

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self._depth < _MAX_DEPTH:
            self._builder.end(tag)

    def data(self, text: str) -> None:
        self._builder.data(text)

    def close(self) -> Element:
        self._builder.end("html")
        return self._builder.close()

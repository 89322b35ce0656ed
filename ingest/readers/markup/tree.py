"""Parses HTML and XML as found in practice: unclosed elements, undefined entities, wrong encodings."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.entities import html5
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, TreeBuilder

from ingest.readers.shared.decoding import decode

_MAX_DEPTH = 200  # of nested elements
_NOT_CONTENT = {"head", "nav", "button", "select", "option", "input", "textarea", "svg", "iframe", "object", "dialog"}
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})""", re.IGNORECASE)
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{0,31});")
_GREEK_NAMES = (
    "a", "b", "g", "d", "e", "z", "ee", "th", "i", "k", "l", "m", "n", "x", "o", "p", "r", "sf", "s", "t", "u", "ph",
    "kh", "ps", "oh",
)  # fmt: skip
_GREEK = {
    **{f"{name}gr": chr(ord("α") + index) for index, name in enumerate(_GREEK_NAMES)},
    **{f"{name.capitalize()}gr": chr(ord("Α") + index) for index, name in enumerate(_GREEK_NAMES) if name != "sf"},
}
"""Greek letters by their names in the SGML entity sets of publishers and patent offices. HTML uses other names."""


def xml_tree(data: bytes, path: Path, warn: Callable[[str], None]) -> Element:
    """Parse an XML document. If it is not well-formed, ``warn`` and return the elements that can be recognised."""
    parser = ElementTree.XMLParser()
    parser.entity.update(_entities(data))
    try:
        parser.feed(data)
        return parser.close()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        warn(f"The file is not well-formed XML ({error}); it was read like HTML.")
        return html_tree(decode(data, path))


def html_tree(source: str) -> Element:
    """Parse a page, or a fragment of one."""
    reader = _HtmlReader()
    reader.feed(source)
    return reader.tree()


def decode_html(data: bytes, path: Path) -> str:
    """Decode a page in the encoding that its head declares, or in the one that fits if the declared one does not."""
    declared = _CHARSET.search(data[:2048])
    if declared:
        try:
            return data.decode(declared[1].decode("ascii"))
        except (UnicodeDecodeError, LookupError):
            pass  # wrong declaration: the bytes decide
    return decode(data, path)


def prune(element: Element) -> None:
    """Remove the head, menus, controls and hidden elements of a page."""
    for child in list(element):
        if child.tag in _NOT_CONTENT or child.get("role") == "navigation" or child.get("hidden") is not None:
            index = list(element).index(child)
            element.remove(child)
            _append_text(element, index, child.tail or "")
        else:
            prune(child)


def _append_text(element: Element, index: int, text: str) -> None:
    """Keep the text after a child that was removed at this index."""
    if index == 0:
        element.text = f"{element.text or ''} {text}"
    else:
        element[index - 1].tail = f"{element[index - 1].tail or ''} {text}"


def _entities(data: bytes) -> dict[str, str]:
    """Return the text of each named entity in the document. Their definitions are not fetched."""
    names = {name.decode() for name in _ENTITY.findall(data)}
    return {name: _GREEK.get(name) or html5.get(f"{name};", f" {name} ") for name in names}


_ENDED_BY = {
    "li": {"li"},
    "p": {"p"},
    "tr": {"tr", "td", "th"},
    "td": {"td", "th"},
    "th": {"td", "th"},
    "dt": {"dt", "dd"},
    "dd": {"dt", "dd"},
}
"""The open elements that end where another element begins, unless a table or list is between them."""


class _HtmlReader(HTMLParser):
    """Builds a tree from HTML: adds missing end tags and ignores end tags without a start."""

    _VOID = frozenset({"br", "img", "hr", "col", "input", "wbr", "meta", "link", "source", "area"})
    _FENCES = frozenset({"table", "ul", "ol", "dl"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._builder = TreeBuilder()
        self._open: list[str] = []
        self._start("html", {})

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._builder.start(tag, attributes)
        self._open.append(tag)

    def _end(self) -> None:
        self._builder.end(self._open.pop())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        ended = _ENDED_BY.get(tag, set())
        while ended and (reached := self._nearest(ended)) is not None:
            while len(self._open) > reached:
                self._end()
        if len(self._open) < _MAX_DEPTH:
            self._start(tag, {name: value or "" for name, value in attrs})
            if tag in self._VOID:
                self._end()

    def _nearest(self, tags: set[str]) -> int | None:
        for index in range(len(self._open) - 1, 0, -1):
            if self._open[index] in tags:
                return index
            if self._open[index] in self._FENCES:
                return None
        return None

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open[1:] and tag not in self._VOID:
            while self._open[-1] != tag:
                self._end()
            self._end()

    def handle_data(self, data: str) -> None:
        self._builder.data(data)

    def tree(self) -> Element:
        """Return the tree of the text fed so far."""
        self.close()
        while self._open:
            self._end()
        return self._builder.close()

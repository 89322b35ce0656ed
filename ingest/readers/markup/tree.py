"""Makes trees of elements out of HTML and XML as they are written: unclosed, unfetchable, in declared encodings."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.entities import html5
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, TreeBuilder

from ingest.readers.shared.decoding import decode

_DEEPEST = 200  # elements in elements; deeper ones are no document
_FURNITURE = {"head", "nav", "button", "select", "option", "input", "textarea", "svg", "iframe", "object", "dialog"}
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{2,40})""", re.IGNORECASE)
_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{0,31});")
_GREEK_NAMES = (
    "a", "b", "g", "d", "e", "z", "ee", "th", "i", "k", "l", "m", "n", "x", "o", "p", "r", "sf", "s", "t", "u", "ph",
    "kh", "ps", "oh",
)  # fmt: skip
_GREEK = {
    **{f"{name}gr": chr(ord("α") + place) for place, name in enumerate(_GREEK_NAMES)},
    **{f"{name.capitalize()}gr": chr(ord("Α") + place) for place, name in enumerate(_GREEK_NAMES) if name != "sf"},
}
"""Greek letters as the SGML sets of publishers and patent offices name them; HTML names them otherwise."""


def xml_tree(data: bytes, path: Path, warn: Callable[[str], None]) -> Element:
    """The tree of an XML document; of one that is not well-formed what can be told, with a warning."""
    parser = ElementTree.XMLParser()
    parser.entity.update(_entities(data))
    try:
        parser.feed(data)
        return parser.close()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        warn(f"It is not well-formed XML ({error}): read as far as its elements can be told.")
        return html_tree(decode(data, path))


def html_tree(source: str) -> Element:
    """The tree of a page, or of a piece of one."""
    reader = _HtmlReader()
    reader.feed(source)
    return reader.tree()


def decode_html(data: bytes, path: Path) -> str:
    """The page's text, in the encoding that its head declares if that fits."""
    declared = _CHARSET.search(data[:2048])
    if declared:
        try:
            return data.decode(declared[1].decode("ascii"))
        except (UnicodeDecodeError, LookupError):
            pass  # declared wrongly, as happens: the bytes decide
    return decode(data, path)


def prune(element: Element) -> None:
    """Take out what a page holds for its own use: its head, its menus, its controls and what it hides."""
    for child in list(element):
        if child.tag in _FURNITURE or child.get("role") == "navigation" or child.get("hidden") is not None:
            place = list(element).index(child)
            element.remove(child)
            _append_text(element, place, child.tail or "")
        else:
            prune(child)


def _append_text(element: Element, place: int, text: str) -> None:
    """Give an element the text that stood behind a child that was at that place."""
    if place == 0:
        element.text = f"{element.text or ''} {text}"
    else:
        element[place - 1].tail = f"{element[place - 1].tail or ''} {text}"


def _entities(data: bytes) -> dict[str, str]:
    """What the named characters of a document stand for, whose definitions it would have to fetch."""
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
"""Which open elements end where another one begins, if no table or list stands between."""


class _HtmlReader(HTMLParser):
    """Makes a tree of HTML as people write it: ends that are missing are added, ends of nothing are passed over."""

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
        if len(self._open) < _DEEPEST:
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
        """The tree of what was fed."""
        self.close()
        while self._open:
            self._end()
        return self._builder.close()

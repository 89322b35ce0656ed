"""Reads XML whose values are attributes: records as values, mind maps and outlines as lists, the labels of diagrams."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from itertools import groupby
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ingest.readers.data.values import Record, Value
from ingest.readers.markup.element_writer import TITLES, ElementWriter, element_name, has_own_text, plain_text, words
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.form import linked
from ingest.readers.shared.ooxml import local_name

FORMS = {"rss", "feed", "rdf", "svg", "html", "math", "score-partwise", "collada"}
"""Root elements of formats whose attributes describe layout or position."""
_PARAGRAPHS = {"p", "para", "paragraph", "div"}
_PROSE = 0.5  # of the text: a document with a larger share in paragraphs is prose, whose attributes are not text
_LABELS = {"id", "class", "style", "role", "lang", "dir", "version", "encoding"}
"""Attributes that say nothing of what an element is about, if it has no others."""
_ITEMS = {"outline", "node"}
_LINKS = ("LINK", "url", "xmlUrl", "htmlUrl")
_TECHNICAL = {"text", "title", "type", "_note", "isComment", "isBreakpoint", *_LINKS}
_MAX_DIAGRAM = 1 << 26  # bytes of an inflated page


def has_data(root: Element) -> bool:
    """Return whether the attributes of a document are part of its text."""
    if element_name(root) in FORMS:
        return False
    if not any(
        _attributes(element) for element in root.iter() if element is not root or set(element.keys()) - {"version"}
    ):
        return False
    total = sum(len(text.strip()) for text in root.itertext())
    return _length_of_prose(root) <= _PROSE * total


def _length_of_prose(element: Element) -> int:
    if element_name(element) in _PARAGRAPHS:
        return sum(len(text.strip()) for text in element.itertext())
    return sum(map(_length_of_prose, element))


def _attributes(element: Element) -> list[tuple[str, str]]:
    """Return the attributes with their local names, without those of XML itself, such as ``xml:lang``."""
    named = ((key, value) for key, value in element.items() if not key.startswith(("{http://www.w3.org/", "xmlns")))
    return [(key.rpartition("}")[2], value) for key, value in named if value.strip()]


def show_attributes(element: Element) -> None:
    """Put the attributes of elements into their text: of those that hold prose, but not of prose and tables."""
    if element_name(element) in {*_PARAGRAPHS, *TITLES, "table", "tgroup"}:
        return
    has_text, fields = has_own_text(element), _attributes(element)
    for child in () if has_text else element:
        show_attributes(child)
    if not {name for name, _ in fields} - _LABELS:
        return
    shown = ", ".join(f"{name}: {value}" for name, value in fields)
    if has_text and len(element):
        element[-1].tail = f"{element[-1].tail or ''} ({shown})"
    elif has_text:
        element.text = f"{element.text} ({shown})"
    else:
        element.insert(0, Element("p"))
        element[0].text = shown


def as_record(element: Element) -> Record:
    """Return an element as its attributes, its text and its children. Adjacent ones of one name are a list."""
    fields: list[tuple[str, Value]] = [*_attributes(element)]
    if not len(element) or has_own_text(element):
        fields += [(local_name(element), text)] if (text := _text(element)) else []
        return Record(tuple(fields))
    children = (child for child in element if isinstance(child.tag, str))
    for name, group in groupby(children, key=local_name):
        same = list(group)
        fields.append((name, _value(same[0]) if len(same) == 1 else _list(same)))
    return Record(tuple(fields))


def _list(elements: list[Element]) -> Value:
    is_plain = not any(len(element) or _attributes(element) for element in elements)
    return [_text(element) if is_plain else as_record(element) for element in elements]


def _value(element: Element) -> Value:
    text = _text(element) if not len(element) or has_own_text(element) else ""
    attributes = ", ".join(f"{key}: {value}" for key, value in _attributes(element))
    if text:
        return f"{text} ({attributes})" if attributes else text
    return as_record(element) if attributes or len(element) else ""


def _text(element: Element) -> str:
    return words(element) if len(element) else (element.text or "").strip()


def write_outline(root: Element, into: DocumentBuilder) -> None:
    """Add an outline (OPML) or a mind map (FreeMind, Freeplane) to the builder: its head, and its items as a list."""
    for field in root.iterfind("head/*"):
        if any(map(str.isalpha, field.text or "")):  # others are the state of a window
            ElementWriter(into).write(field, depth=1)
    body = root.find("body")
    into.list_items(list(_item_lines(root if body is None else body, 0)))


def _item_lines(element: Element, depth: int) -> Iterator[str]:
    for item in element:
        if element_name(item) in _ITEMS:
            first, *others = [*_item_texts(item), ""]
            yield "  " * depth + f"- {first}" if first else ""
            yield from ("  " * (depth + 1) + text for text in others if text)
            yield from _item_lines(item, depth + 1)


def _item_texts(item: Element) -> Iterator[str]:
    """Yield the text of an item, its notes and its own fields, each on a line."""
    rich = {part.get("TYPE", "NODE"): words(part) for part in item.iterfind("richcontent")}
    text = item.get("text") or item.get("TEXT") or item.get("title") or rich.pop("NODE", "")
    address = next((address for name in _LINKS if (address := item.get(name))), "")
    fields = [(field.get("NAME", ""), field.get("VALUE", "")) for field in item.iterfind("attribute")]
    if element_name(item) == "outline":
        fields += [(key, value) for key, value in _attributes(item) if key not in _TECHNICAL]
    yield linked(" ".join(plain_text(text).split()), address)
    yield from (line for note in (item.get("_note", ""), *rich.values()) for line in plain_text(note).split("\n"))
    yield from (f"{key}: {value}" for key, value in fields)


def write_diagrams(root: Element, into: DocumentBuilder) -> None:
    """Add the labels of a diagram (draw.io) to the builder, with a heading per page."""
    pages = [root] if root.find("diagram") is None else root.findall("diagram")
    for page in pages:
        into.heading(page.get("name", ""), level=2)
        try:
            _write_labels(page if len(page) or not (page.text or "").strip() else _inflated(page.text or ""), into)
        except ValueError as error:
            into.warn(f"The page {page.get('name', '')!r} of the diagram is damaged and was not read ({error}).")


def _write_labels(page: Element, into: DocumentBuilder) -> None:
    for element in page.iter():
        has_fields = element.tag in ("object", "UserObject")
        fields = _attributes(element) if has_fields else []
        lines = [f"{key}: {value}" for key, value in fields if key not in ("id", "label", "placeholders")]
        into.prose("\n".join([plain_text(element.get("label" if has_fields else "value", "")), *lines]))


def _inflated(source: str) -> Element:
    """Return the page in a compressed text. Raises ValueError."""
    try:
        data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(base64.b64decode(source), _MAX_DIAGRAM)
        return ElementTree.fromstring(unquote(data.decode()))
    except (zlib.error, ElementTree.ParseError) as error:
        raise ValueError(f"a page of the diagram is damaged ({error})") from error

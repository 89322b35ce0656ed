"""Reads web pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.element_writer import ElementWriter, words
from ingest.readers.markup.page_form import show_form
from ingest.readers.markup.tree import decode_markup, html_tree, prune
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.ooxml import PROPERTIES
from vectorstore.models import Scalar

_PUBLISHED = re.compile(r'"datePublished"\s*:\s*"(\d{4}-\d\d-\d\d)')  # in JSON-LD
_HIDDEN_SHARE = 0.1  # of the words of the page, from which on hidden ones are worth a warning


def read_html(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the page's blocks to the builder; return the title, authors, date and language in its head."""
    return write_page(decode_markup(request.data, request.path, into.warn), into)


def write_page(source: str, into: DocumentBuilder, *, is_mail: bool = False) -> dict[str, Scalar]:
    """Add the blocks of a page or a mail to the builder; return the properties in its head."""
    root = html_tree(source)
    properties = dict(_head(root))
    hidden = show_form(root)
    prune(root)
    before = len(into.parts)
    ElementWriter(into, is_page=True, is_mail=is_mail).write(root, depth=0)
    if hidden and hidden > _HIDDEN_SHARE * sum(len(part.split()) for part in into.parts[before:]):
        into.warn(f"{hidden:,} words that the page hides were left out.")
    return properties


def _head(root: Element) -> Iterator[tuple[str, Scalar]]:
    page = root.find("html")
    if page is not None and page.get("lang"):
        yield "language", page.get("lang", "")
    title = root.find(".//title")
    if title is not None and words(title):
        yield "title", words(title)
    found: dict[str, str] = {}
    for meta in root.iterfind(".//meta"):
        key = PROPERTIES["html"].get((meta.get("name") or meta.get("property") or "").lower())
        if key and meta.get("content", "").strip():
            found.setdefault(key, meta.get("content", "").strip())
    linked = {day for each in root.iterfind(".//script") for day in _PUBLISHED.findall(each.text or "")}
    if len(linked) == 1:  # several are those of a list of pages
        found.setdefault("published_at", *linked)
    yield from found.items()


READER = Reader(name="html", version=17, read=read_html, mime_types=("text/html", "application/xhtml+xml"))

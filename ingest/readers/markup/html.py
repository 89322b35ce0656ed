"""Reads web pages."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.element_writer import ElementWriter, words
from ingest.readers.markup.tree import decode_html, html_tree, prune
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar

_META = {
    "author": "authors",
    "article:author": "authors",
    "description": "subject",
    "og:description": "subject",
    "article:published_time": "created_at",
    "date": "created_at",
    "article:modified_time": "modified_at",
}


def read_html(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the page's blocks to the builder; return the title, authors, date and language in its head."""
    root = html_tree(decode_html(request.data, request.path))
    properties = dict(_head(root))
    prune(root)
    ElementWriter(into).write(root, depth=0)
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
        key = _META.get((meta.get("name") or meta.get("property") or "").lower())
        if key and meta.get("content", "").strip():
            found.setdefault(key, meta.get("content", "").strip())
    yield from found.items()


READER = Reader(name="html", version=3, read=read_html, mime_types=("text/html", "application/xhtml+xml"))

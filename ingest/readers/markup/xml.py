"""Reads XML of any vocabulary, such as articles (JATS), patents, filings (XBRL), feeds, maps and drawings."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ingest.errors import EmptyImage
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.element_writer import TITLES, ElementWriter, element_name, words
from ingest.readers.markup.tree import xml_tree
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.sheets.xml_2003 import NAMESPACE, write_workbook
from vectorstore.models import Scalar


def read_xml(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks to the builder; return its title and authors, if it has elements for them."""
    root = xml_tree(request.data, request.path, into.warn)
    if root.tag == f"{{{NAMESPACE}}}Workbook":
        write_workbook(root, into)
        return {}
    ElementWriter(into).write(root, depth=0)
    if into.is_empty and request.mime_type.startswith("image/"):
        raise EmptyImage(f"{request.path} is a drawing that contains no text.")
    return dict(_properties(root))


def _properties(root: Element) -> Iterator[tuple[str, Scalar]]:
    """Yield the title and authors of articles, patents and feeds."""
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    title = next((element for element in elements if element_name(element) in TITLES), None)
    if title is not None:
        yield "title", words(title)
    people = root.findall(".//{*}article-meta//{*}contrib[@contrib-type='author']/{*}name")
    authors = [f"{name.findtext('{*}given-names', '')} {name.findtext('{*}surname', '')}".strip() for name in people]
    if authors:
        yield "authors", ", ".join(authors)


READER = Reader(
    name="xml",
    version=2,
    read=read_xml,
    mime_types=("application/xml", "text/xml", "*+xml", "image/*+xml", "text/mathml"),
)

"""Reads the headers and footers that Word prints on the pages."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.ooxml import Package, attribute, is_on, local_name
from ingest.readers.shared.page_headers import PAGE_NUMBER, PageHeaders
from ingest.readers.word.text import TextReader, visible


def write_headers(package: Package, main: str, body: Element, reader: TextReader, into: DocumentBuilder) -> None:
    """Add the lines that are only in headers and footers to the builder, each once and without page numbers."""
    headers = PageHeaders(into)
    reader.page_number = PAGE_NUMBER
    for label, part in dict.fromkeys(_printed(package, main, body)):
        headers.write(label, map(reader.text_of, _paragraphs(package.xml(part))))


def _printed(package: Package, main: str, body: Element) -> Iterator[tuple[str, str]]:
    """Yield the label and the part of each header and footer. Word keeps parts that no page shows."""
    relations = package.relations(main)
    settings = [package.xml(part) for part in package.related(main, "settings")]
    has_even = any(is_on(each.find("{*}evenAndOddHeaders")) for each in settings)
    current: dict[tuple[str, str], tuple[str, str]] = {}  # a section without a header continues that of the one before
    for section in body.iterfind(".//{*}sectPr"):
        for reference in section:
            relation = relations.get(attribute(reference, "id"))
            if relation and relation.kind in ("header", "footer"):
                current[attribute(reference, "type"), relation.kind] = relation.kind.capitalize(), relation.target
        shown = {"default": True, "first": is_on(section.find("{*}titlePg")), "even": has_even}
        yield from (printed for (use, _), printed in current.items() if shown.get(use))


def _paragraphs(element: Element) -> Iterator[Element]:
    for inner in visible(element):
        if local_name(inner) == "p":
            yield inner
        elif local_name(inner) == "txbxContent":
            yield from _paragraphs(inner)

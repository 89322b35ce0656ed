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
    for label, part in dict.fromkeys(_printed(package, main, body)):
        headers.write(label, _texts(package.xml(part), reader))


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


def _texts(header: Element, reader: TextReader) -> Iterator[str]:
    for paragraph in _paragraphs(header):
        _mark_page_numbers(paragraph)
        yield reader.text_of(paragraph)


def _paragraphs(element: Element) -> Iterator[Element]:
    for inner in visible(element):
        if local_name(inner) == "p":
            yield inner
        elif local_name(inner) == "txbxContent":
            yield from _paragraphs(inner)


def _mark_page_numbers(paragraph: Element) -> None:
    """Replace the page numbers of a paragraph by marks. Word stores them as the results of fields."""
    mark = ""
    is_result = False
    for element in list(paragraph.iter()):
        match local_name(element):
            case "fldSimple" if _counts_pages(attribute(element, "instr")):
                for text in element.iterfind(".//{*}t"):
                    text.text = PAGE_NUMBER
            case "instrText" if _counts_pages(element.text or ""):
                mark, is_result = PAGE_NUMBER, True
            case "fldChar" if attribute(element, "fldCharType") == "end":
                is_result = False
            case "t" if is_result:
                element.text, mark = mark, ""
            case _:
                pass


def _counts_pages(code: str) -> bool:
    return code.split()[:1] in (["PAGE"], ["NUMPAGES"], ["SECTIONPAGES"])

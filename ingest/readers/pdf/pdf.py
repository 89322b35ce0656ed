"""Reads PDF files: headings, paragraphs, tables and tables of contents.

kreuzberg uses the same engine (PDFium), but its plain text has no structure, and its Markdown has no tables and omits
lines (20,000 of the 23,000 words of one quarterly report, table rows next to a page break). This package therefore
reads the layout: ``lines.py`` returns lines, ``tables/``, ``contents.py`` and ``headings.py`` find tables, tables of
contents and headings, and this module builds the blocks. ``annotations.py`` reads comments and form fields: they follow
the text of their page.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pypdfium2 import PdfPage

from ingest.reader import Reader, ReadRequest
from ingest.readers.pdf.annotations import Annotation, one_line, read_annotations
from ingest.readers.pdf.candidates import PARAGRAPH_GAP, space
from ingest.readers.pdf.contents import find_contents, read_entries
from ingest.readers.pdf.figures import has_figure
from ingest.readers.pdf.file import Bookmark, read_custom_properties
from ingest.readers.pdf.headings import Heading, find_headings
from ingest.readers.pdf.lines import Line, is_bullet, read_lines
from ingest.readers.pdf.ocr import ScanReader, list_pictured, spans
from ingest.readers.pdf.page_headers import without_page_headers, without_watermarks
from ingest.readers.pdf.tables.find import find_tables, with_heads
from ingest.readers.pdf.tables.grids import gathered
from ingest.readers.shared.document_builder import DocumentBuilder, PageBreaks
from ingest.readers.shared.header_rows import holds_figures
from vectorstore.models import Scalar

_SAME_SIZE = 0.5  # points: maximum difference in type size between lines of one paragraph
_GLUED = re.compile(r"^(.*[^\W\d_].*?)[ .]* ([$€£¥] ?\(?\d[\d.,]*\)?)$")
_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’»)\]]*$")

_Span = tuple[int, int]
"""Lines [start, end)."""


@dataclass(frozen=True, slots=True)
class _Element:
    page: int
    pages: PageBreaks = field(default=(), kw_only=True)

    @property
    def last_page(self) -> int:
        return self.pages[-1][1] if self.pages else self.page


@dataclass(frozen=True, slots=True)
class _Heading(_Element):
    text: str
    level: int


@dataclass(frozen=True, slots=True)
class _Paragraph(_Element):
    lines: tuple[str, ...]
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class _Table(_Element):
    rows: tuple[tuple[str, ...], ...]
    has_header: bool


@dataclass(frozen=True, slots=True)
class _Contents(_Element):
    lines: tuple[str, ...]


def _custom_properties(data: bytes, into: DocumentBuilder) -> dict[str, str]:
    try:
        return read_custom_properties(data)
    except Exception as error:  # noqa: BLE001  # the text of a damaged file is read all the same
        into.warn(f"Its custom properties were not read ({type(error).__name__}: {error}).")
        return {}


def read_pdf(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the blocks and pages of the PDF to the builder. Return its title, authors and other properties."""
    scans = ScanReader(request.options, request.path)
    figures: list[int] = []
    annotations: dict[int, list[Annotation]] = {}

    def inspect(page: PdfPage, number: int, lines: Sequence[Line]) -> None:
        if has_figure(page, lines):
            figures.append(number)
        annotations[number] = read_annotations(page)
        into.label_page(number, page.pdf.get_page_label(number - 1))

    document = read_lines(request.data, request.path, scans.page, inspect)
    recognised = scans.recognised
    added = [
        each for number, found in annotations.items() for each in _added(found, number, recognised.get(number, ()))
    ]
    write_pages(document.pages, into, document.bookmarks, added)
    if document.is_xfa:
        into.warn("Its form is in XFA, which is not read. Print it to a PDF from Acrobat Reader and ingest that.")
    if pages := [number for number, words in document.hidden.items() if words]:
        words = sum(document.hidden.values())
        into.warn(
            f"{words:,} words on {spans(pages)} are not shown (hidden layer, white or tiny print). They were left out."
        )
    into.describe({**_custom_properties(request.data, into), **document.dates}.items())
    return document.metadata | scans.report(into) | list_pictured((*figures, *recognised))


def _added(annotations: Iterable[Annotation], page: int, recognised: Sequence[Line]) -> Iterator[_Paragraph]:
    """Yield the fields of a page as one paragraph, then the other annotations.

    Text recognition reads the picture of a page, so what the picture shows may be in the recognised lines already.
    """
    text = one_line(" ".join(line.text for line in recognised))
    new = [each for each in annotations if not (text and each.shown and one_line(each.shown) in text)]
    if fields := tuple(each.text for each in new if each.is_field):
        yield _Paragraph(page, fields)
    yield from (_Paragraph(page, (each.text,)) for each in new if not each.is_field)


def write_pages(
    pages: Sequence[Sequence[Line]],
    into: DocumentBuilder,
    bookmarks: Sequence[Bookmark] = (),
    added: Sequence[_Paragraph] = (),
) -> None:
    """Convert the lines of the pages to blocks and add them to the builder, with what was added to the pages."""
    lines = without_page_headers(without_watermarks([with_heads(gathered(page)) for page in pages]))
    elements = _join_tables(_elements(lines, find_contents(lines, len(pages)), bookmarks))
    _write(_with_added(elements, added), into)


def _with_added(elements: Iterable[_Element], added: Sequence[_Paragraph]) -> Iterator[_Element]:
    """Yield the elements, with the added paragraphs at the end of their pages so that page numbers never decrease."""
    waiting = deque(added)
    for element in elements:
        while waiting and waiting[0].page < element.last_page:
            yield waiting.popleft()
        yield element
    yield from waiting


def _elements(lines: Sequence[Line], contents: Sequence[_Span], bookmarks: Sequence[Bookmark]) -> Iterator[_Element]:
    """Yield headings, tables, tables of contents and paragraphs in reading order."""
    lists = (
        (span, _Contents(lines[span[0]].page, tuple(line.text for line in lines[slice(*span)]))) for span in contents
    )
    placed: list[tuple[_Span, _Element]] = sorted([*_tables(lines, contents), *lists], key=lambda found: found[0])
    found = find_headings(lines, [span for span, _ in placed], bookmarks, read_entries(lines, contents))
    headings = {heading.start: heading for heading in found}
    position = 0
    for (start, end), element in placed:
        yield from _text_elements(lines, position, start, headings)
        yield element
        position = end
    yield from _text_elements(lines, position, len(lines), headings)


def _tables(lines: Sequence[Line], contents: Sequence[_Span]) -> Iterator[tuple[_Span, _Table]]:
    """Yield each table outside the tables of contents with its span of lines."""
    borders = [0, *(border for span in contents for border in span), len(lines)]
    for begin, end in zip(borders[::2], borders[1::2], strict=True):
        for table in find_tables(lines[begin:end]):
            first = begin + table.start
            rows = tuple(map(_apart, table.rows))
            yield (first, begin + table.end), _Table(lines[first].page, rows, table.has_header)


def _apart(row: tuple[str, ...]) -> tuple[str, ...]:
    """Return the row with the first value in its own cell, if it is at the end of the label and its cell is empty."""
    glued = _GLUED.match(row[0]) if any(row[2:]) and not row[1] else None
    return (*glued.groups(), *row[2:]) if glued else row


def _text_elements(
    lines: Sequence[Line], start: int, end: int, headings: Mapping[int, Heading]
) -> Iterator[_Heading | _Paragraph]:
    while start < end:
        if heading := headings.get(start):
            after = heading.end
            yield _Heading(lines[start].page, " ".join(line.text for line in lines[start:after]), heading.level)
        else:
            after = _paragraph_end(lines, start, end, headings)
            paragraph = lines[start:after]
            texts = tuple(line.text for line in paragraph)
            pairs = enumerate(pairwise(paragraph), start=1)
            breaks = tuple((index, line.page) for index, (last, line) in pairs if line.page != last.page)
            yield _Paragraph(lines[start].page, texts, _is_item(lines[start]), pages=breaks)
        start = after


def _is_item(line: Line) -> bool:
    return is_bullet(line.words[0]) and len(line.words) > 1


def _paragraph_end(lines: Sequence[Line], start: int, limit: int, headings: Container[int]) -> int:
    """Return the end of the paragraph at ``start``. A gap, a heading, a list item or a page break may end it."""
    end = start + 1
    is_item = _is_item(lines[start])
    while (
        end < limit
        and _continues_paragraph(lines[end - 1], lines[end])
        and (is_item or not _is_item(lines[end]))
        and end not in headings
    ):
        end += 1
    return end


def _continues_paragraph(last: Line, line: Line) -> bool:
    """Return whether the line belongs to the same paragraph as the previous line.

    It does if it is close to that line, or continues its sentence after a page break.
    """
    if line.page == last.page:
        return space(last, line) < PARAGRAPH_GAP
    is_sentence = not _SENTENCE_END.search(last.text) and line.text[0].islower()
    return is_sentence and line.page == last.page + 1 and abs(line.size - last.size) < _SAME_SIZE


def _join_tables(elements: Iterable[_Element]) -> Iterator[_Element]:
    """Yield the elements. Joins tables that continue on the next page."""
    last: _Element | None = None
    for element in elements:
        if isinstance(last, _Table) and isinstance(element, _Table) and _continues_table(last, element):
            last = _append_rows(last, element)
            continue
        if last is not None:
            yield last
        last = element
    if last is not None:
        yield last


def _continues_table(table: _Table, more: _Table) -> bool:
    """Return whether ``more`` continues the table.

    It does if it is on the next page, has the same number of columns and no header of its own. A header of its own
    differs from the header of the table and is above figures.
    """
    head, *rows = more.rows
    has_own_head = more.has_header and any(head[1:]) and head != table.rows[0] and holds_figures(rows)
    return more.page == table.last_page + 1 and len(head) == len(table.rows[0]) and not has_own_head


def _append_rows(table: _Table, more: _Table) -> _Table:
    rows = more.rows[1:] if more.rows[0] == table.rows[0] else more.rows
    return replace(table, rows=table.rows + rows, pages=(*table.pages, (len(table.rows), more.page)))


def _write(elements: Iterable[_Element], into: DocumentBuilder) -> None:
    page = 0
    for element in elements:
        if element.page != page:
            into.page(element.page)
        page = element.last_page
        match element:
            case _Heading():
                into.heading(element.text, element.level)
            case _Paragraph(is_list=True):
                into.list_items(element.lines, pages=element.pages)
            case _Paragraph():
                into.prose("\n".join(element.lines), pages=element.pages)
            case _Contents():
                into.contents(element.lines)
            case _Table():
                into.table(element.rows, has_header=element.has_header, pages=element.pages)


READER = Reader(name="pdf", version=21, read=read_pdf, mime_types=("application/pdf",))

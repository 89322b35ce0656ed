"""Reads PDF: headings by type size, paragraphs by spacing, tables by columns.

kreuzberg uses the same engine (PDFium), but its plain text has no structure, and its Markdown has no tables and misses
lines (20,000 of the 23,000 words of one quarterly report, table rows next to a page break). So this package reads the
layout itself: ``lines.py`` returns lines, ``tables.py`` finds tables in them, and this module builds the blocks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ingest.reader import Reader, ReadRequest
from ingest.readers.pdf.figures import has_figure
from ingest.readers.pdf.lines import Line, is_bullet, read_lines
from ingest.readers.pdf.ocr import ScanReader, list_pictured
from ingest.readers.pdf.page_headers import without_page_headers
from ingest.readers.pdf.tables import find_tables
from ingest.readers.shared.document_builder import DocumentBuilder, PageBreaks
from vectorstore.models import Scalar

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_PARAGRAPH_GAP = 0.75  # in line heights: lines further apart belong to different paragraphs
_HEADING_SIZE = 1.12  # times the body's type size
_HEADING_LENGTH = 160
_HEADING_LINES = 3
_DEEPEST = 6
_SAME_SIZE = 0.5
_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’»)\]]*$")

_Levels = dict[tuple[float, bool], int]


@dataclass(frozen=True, slots=True)
class _Heading:
    text: str
    level: int
    page: int


@dataclass(frozen=True, slots=True)
class _Paragraph:
    lines: tuple[str, ...]
    page: int
    is_list: bool
    pages: PageBreaks = ()

    @property
    def last_page(self) -> int:
        return self.pages[-1][1] if self.pages else self.page


@dataclass(frozen=True, slots=True)
class _Table:
    rows: tuple[tuple[str, ...], ...]
    page: int
    has_header: bool
    pages: PageBreaks = ()

    @property
    def last_page(self) -> int:
        return self.pages[-1][1] if self.pages else self.page


_Element = _Heading | _Paragraph | _Table


def read_pdf(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the PDF's blocks and pages to the builder; return its title, authors and other properties."""
    scans = ScanReader(request.options, request.path)
    figures: list[int] = []

    def find_figures(page: PdfPage, number: int, lines: Sequence[Line]) -> None:
        if has_figure(page, lines):
            figures.append(number)

    pages, metadata = read_lines(request.data, request.path, scans.page, find_figures)
    write_pages(pages, into)
    return metadata | scans.report(into) | list_pictured((*figures, *scans.recognised))


def write_pages(pages: Sequence[Sequence[Line]], into: DocumentBuilder) -> None:
    """Turn the lines of pages into blocks and add them to the builder."""
    _write(_join_tables(_elements(without_page_headers(pages))), into)


def _elements(lines: Sequence[Line]) -> Iterator[_Element]:
    """Yield headings, tables and paragraphs in reading order."""
    levels = _heading_levels(lines)
    position = 0
    for table in find_tables(lines):
        yield from _text_elements(lines[position : table.start], levels)
        yield _Table(table.rows, lines[table.start].page, table.has_header)
        position = table.end
    yield from _text_elements(lines[position:], levels)


def _text_elements(lines: Sequence[Line], levels: _Levels) -> Iterator[_Heading | _Paragraph]:
    position = 0
    while position < len(lines):
        first = lines[position]
        end = _heading_end(lines, position, levels)
        if end > position:
            yield _Heading(_text_of(lines[position:end]).replace("\n", " "), levels[_style(first)], first.page)
        else:
            end = _paragraph_end(lines, position, levels)
            paragraph = lines[position:end]
            yield _Paragraph(
                tuple(line.text for line in paragraph), first.page, _is_item(first), tuple(_page_breaks(paragraph))
            )
        position = end


def _page_breaks(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    return ((index, line.page) for index, (last, line) in enumerate(pairwise(lines), start=1) if line.page != last.page)


def _text_of(lines: Sequence[Line]) -> str:
    return "\n".join(line.text for line in lines)


def _body_size(lines: Sequence[Line]) -> float:
    """Return the type size of most characters."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 1.0


def _style(line: Line) -> tuple[float, bool]:
    return round(line.size * 2) / 2, line.bold


def _heading_levels(lines: Sequence[Line]) -> _Levels:
    """Return the level of each heading style. Headings are larger than the body, or bold in its size.

    The largest style is level 1.
    """
    body = _body_size(lines)
    larger, bold = set(), set()
    for size, is_bold in {_style(line) for line in lines if len(line.cells) == 1}:
        if size >= body * _HEADING_SIZE:
            larger.add(size)
        elif is_bold and size >= body - 0.5:
            bold.add(size)
    ranks = [*sorted(larger, reverse=True), *sorted(bold, reverse=True)]
    levels = {size: min(rank, _DEEPEST) for rank, size in enumerate(ranks, start=1)}
    return {(size, is_bold): levels[size] for size in ranks for is_bold in (True, False) if is_bold or size in larger}


def _heading_end(lines: Sequence[Line], start: int, levels: _Levels) -> int:
    """Return the end of the heading at ``start``, or ``start`` if there is none."""
    first = lines[start]
    end = start
    while end < len(lines) and _continues_heading(first, lines[end], lines[end - 1] if end > start else None, levels):
        end += 1
    text = _text_of(lines[start:end])
    is_heading = (
        0 < end - start <= _HEADING_LINES
        and len(text) <= _HEADING_LENGTH
        and any(character.isalpha() for character in text)
        and not text.endswith((".", ",", ";"))
    )
    return end if is_heading else start


def _continues_heading(first: Line, line: Line, previous: Line | None, levels: _Levels) -> bool:
    if len(line.cells) > 1 or _style(line) not in levels or _style(line) != _style(first) or line.page != first.page:
        return False
    return previous is None or _gap(previous, line) < _PARAGRAPH_GAP


def _gap(above: Line, below: Line) -> float:
    """Return the space between two lines in heights of the lower one. It is large if the lower one is further up."""
    gap = (above.bottom - below.top) / max(below.height, 1.0)
    return gap if gap > -2 else 99.0


def _is_item(line: Line) -> bool:
    return is_bullet(line.words[0]) and len(line.words) > 1


def _paragraph_end(lines: Sequence[Line], start: int, levels: _Levels) -> int:
    """Return the end of the paragraph at ``start``: a gap, a heading, another list item or the end of the page."""
    end = start + 1
    is_item = _is_item(lines[start])
    while (
        end < len(lines)
        and _continues_paragraph(lines[end - 1], lines[end])
        and (is_item or not _is_item(lines[end]))
        and _heading_end(lines, end, levels) == end
    ):
        end += 1
    return end


def _continues_paragraph(last: Line, line: Line) -> bool:
    """Return whether a line belongs to the paragraph of the line before.

    It is near that line, or continues its sentence after a page break.
    """
    if line.page == last.page:
        return _gap(last, line) < _PARAGRAPH_GAP
    is_sentence = not _SENTENCE_END.search(last.text) and line.text[0].islower()
    return is_sentence and line.page == last.page + 1 and abs(line.size - last.size) < _SAME_SIZE


def _join_tables(elements: Iterable[_Element]) -> Iterator[_Element]:
    """Yield the elements; tables that continue on the next page become one table."""
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
    return more.page == table.last_page + 1 and len(more.rows[0]) == len(table.rows[0])


def _append_rows(table: _Table, more: _Table) -> _Table:
    rows = more.rows[1:] if more.rows[0] == table.rows[0] else more.rows
    return replace(table, rows=table.rows + rows, pages=(*table.pages, (len(table.rows), more.page)))


def _write(elements: Iterable[_Element], into: DocumentBuilder) -> None:
    page = 0
    for element in elements:
        if element.page != page:
            into.page(element.page)
            page = element.page
        match element:
            case _Heading():
                into.heading(element.text, element.level)
            case _Paragraph(is_list=True):
                into.list_items(element.lines, pages=element.pages)
                page = element.last_page
            case _Paragraph():
                into.prose("\n".join(element.lines), pages=element.pages)
                page = element.last_page
            case _Table():
                into.table(element.rows, has_header=element.has_header, pages=element.pages)
                page = element.last_page


READER = Reader(name="pdf", version=2, read=read_pdf, mime_types=("application/pdf",))

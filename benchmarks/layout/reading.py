"""Adapters for the compared libraries. Each reads tables (rows of cells), headings and text of a PDF, by page."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.document import Block, BlockKind, ParsedDocument
from ingest.parser import load_parser

_RULE = re.compile(r"^\|(?: --- \|)+$")
_BORDER = re.compile(r"(?<!\\)\|")


class NotAvailable(Exception):
    """The library cannot run on this machine. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class Row:
    page: int
    cells: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(cell for cell in self.cells if cell)


Table = tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A heading or another text outside tables, with its page."""

    page: int
    text: str
    kind: str = "heading"


@dataclass(frozen=True, slots=True)
class Reading:
    """The output of a library for one document. None stands for what the library does not detect."""

    tables: tuple[Table, ...] | None
    headings: tuple[Text, ...] | None = None
    others: tuple[Text, ...] = field(default=())
    """Texts outside tables that are not headings, for the list of failures."""
    texts: Mapping[int, str] = field(default_factory=dict)
    """The text of each page that was read, in reading order."""


Read = Callable[[Path, Collection[int]], Reading]


def candor(path: Path, pages: Collection[int]) -> Reading:
    """Read the whole document with Candor's default parser."""
    return reading_of(load_parser("default").parse(path))


def reading_of(document: ParsedDocument) -> Reading:
    """Return the tables and headings of a parsed document. A table over several pages is one table."""
    pages = [(span.start, span.number) for span in document.pages]
    headings = [block for block in document.blocks if block.kind is BlockKind.HEADING]
    others = [block for block in document.blocks if block.kind not in (BlockKind.HEADING, BlockKind.TABLE)]
    return Reading(
        tables=tuple(
            tuple(_rows(document.text, block, pages)) for block in document.blocks if block.kind is BlockKind.TABLE
        ),
        headings=tuple(Text(_page_at(block.start, pages), _text(document, block)) for block in headings),
        others=tuple(Text(_page_at(block.start, pages), _text(document, block), str(block.kind)) for block in others),
        texts={span.number: document.text[span.start : span.end] for span in document.pages},
    )


def _text(document: ParsedDocument, block: Block) -> str:
    return document.text[block.start : block.end]


def _page_at(offset: int, pages: Sequence[tuple[int, int]]) -> int:
    return max((page for page in pages if page[0] <= offset), default=(0, 1))[1]


def _rows(text: str, block: Block, pages: Sequence[tuple[int, int]]) -> Iterator[Row]:
    offset = block.start
    for line in text[block.start : block.end].split("\n"):
        if not _RULE.match(line):
            cells = (cell.strip().replace("\\|", "|") for cell in _BORDER.split(line)[1:-1])
            yield Row(_page_at(offset, pages), tuple(cells))
        offset += len(line) + 1


def pdfplumber(path: Path, pages: Collection[int]) -> Reading:
    """Read with pdfplumber's default settings, which rely on drawn lines for tables. It does not detect headings."""
    return _pdfplumber(path, pages, {})


def pdfplumber_text(path: Path, pages: Collection[int]) -> Reading:
    """Read with pdfplumber's other strategy: columns and rows of tables from the alignment of words."""
    return _pdfplumber(path, pages, {"vertical_strategy": "text", "horizontal_strategy": "text"})


def _pdfplumber(path: Path, pages: Collection[int], settings: Mapping[str, str]) -> Reading:
    library = _library("pdfplumber")
    tables: list[Table] = []
    texts: dict[int, str] = {}
    with library.open(path) as document:
        for page in document.pages:
            if page.page_number in pages:
                grids = page.extract_tables(dict(settings))
                tables += (tuple(Row(page.page_number, tuple(_filled(row))) for row in grid) for grid in grids)
                texts[page.page_number] = page.extract_text()
            page.close()
    return Reading(join_pages(tables), texts=texts)


def docling_parse(path: Path, pages: Collection[int]) -> Reading:
    """Read with docling's PDF backend: lines of text. docling finds tables and headings with models."""
    library = _library("docling_parse.pdf_parser")
    skip = library.ContentLevel.SKIP  # what is not text costs several times the lines
    parts = ("char_cells", "word_cells", "shapes", "bitmaps")
    content = library.ContentConfig(**{f"{part}_content_level": skip for part in parts})
    document = library.DoclingPdfParser().load(path)
    lines = {number: document.get_page(number, content_config=content).textline_cells for number in sorted(pages)}
    texts = {number: "\n".join(line.text for line in found) for number, found in lines.items()}
    return Reading(tables=None, texts=texts)


def pdfium(path: Path, pages: Collection[int]) -> Reading:
    """Read the plain text with PDFium, the engine of Candor's reader: its floor."""
    document = _library("pypdfium2").PdfDocument(path)
    return Reading(None, texts={number: document[number - 1].get_textpage().get_text_range() for number in pages})


def _filled(row: Iterable[str | None]) -> Iterator[str]:
    """Yield the cells. pdfplumber returns None for a merged cell: repeat the text of the cell before it."""
    last = ""
    for cell in row:
        last = last if cell is None else cell
        yield last


def kreuzberg(path: Path, pages: Collection[int]) -> Reading:
    """Read with kreuzberg's own tables and document structure, without its layout model, which needs a download."""
    library = _library("kreuzberg")
    config = library.ExtractionConfig(
        include_document_structure=True,
        output_format="markdown",  # required for headings in the structure
        pages=library.PageConfig(extract_pages=True),
        use_cache=False,
    )
    result = library.extract_file_sync(str(path), config=config)
    tables = [tuple(Row(table.page_number, tuple(map(str, row))) for row in table.cells) for table in result.tables]
    nodes = (result.document or {}).get("nodes", ())
    return Reading(
        join_pages([table for table in tables if table]),
        headings=tuple(
            Text(int(node.get("page") or 0), str(node["content"]["text"]))
            for node in nodes
            if node["content"].get("node_type") == "heading"
        ),
        texts={page["page_number"]: page["content"] for page in result.pages or ()},
    )


def docling(path: Path, pages: Collection[int]) -> Reading:
    """Read with docling, which needs its models on this machine."""
    converter = _library("docling.document_converter").DocumentConverter()
    try:
        document = converter.convert(path).document
    except OSError as error:  # docling fails to download its models
        raise NotAvailable(f"its models are not on this machine: {error}") from error
    tables = [
        tuple(Row(table.prov[0].page_no, tuple(cell.text for cell in row)) for row in table.data.grid)
        for table in document.tables
    ]
    headings = (item for item in document.texts if item.label in ("section_header", "title") and item.prov)
    return Reading(join_pages(tables), tuple(Text(item.prov[0].page_no, item.text) for item in headings))


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotAvailable(f"not installed ({error})") from error


def join_pages(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Join the last table of a page with the first table of the next page if their column counts match.

    Candor joins tables by the same rule.
    """
    joined: list[Table] = []
    for table in filter(None, tables):
        last = joined[-1] if joined else ()
        if last and table[0].page == last[-1].page + 1 and len(table[0].cells) == len(last[0].cells):
            joined[-1] = (*last, *table)
        else:
            joined.append(table)
    return tuple(joined)


READERS: dict[str, Read] = {
    "candor": candor,
    "pdfium": pdfium,
    "pdfplumber": pdfplumber,
    "pdfplumber-text": pdfplumber_text,
    "docling-parse": docling_parse,
    "kreuzberg": kreuzberg,
    "docling": docling,
}

"""Reads a PDF's text with its layout: headings by their type size, paragraphs by their spacing, tables by their columns.

kreuzberg takes PDF text from the same engine (PDFium), but either without any structure or, in its Markdown mode, with
lines missing (20,000 of the 23,000 words of one quarterly report, table rows beside a page break) and no tables. So the
layout is read here: words with their boxes, grouped into lines, the lines into blocks.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from ingest.building import DocumentBuilder
from ingest.errors import CorruptDocument, EncryptedDocument, ParseError, UnreadableFile
from vectorstore.models import Scalar

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_METADATA = {"Title": "title", "Author": "authors", "Subject": "subject", "Keywords": "keywords"}
_SOFT_HYPHEN = "\x02"  # what PDFium puts where a word is broken at a line end
_BULLET = re.compile(r"^[•‣◦▪▫●○■□–·∙-]$")
_NUMBERING = re.compile(r"^\(?[0-9A-Za-z]{1,3}[.)]$")
_FIGURE = re.compile(r"^[(+\-–—]?[$€£¥₹]? ?[(+\-–—]?\d[\d.,:  ]*%?\)?$")
_CURRENCY = re.compile(r"^[$€£¥₹]$")
_BOLD = re.compile(r"bold|black|heavy|semibold", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")

_WIDE_GAP = 1.0  # in line heights: words further apart belong to different cells
_RULED_GAP = 0.2  # the same where a ruled line stands between them
_PARAGRAPH_GAP = 0.75  # in line heights: lines further apart belong to different paragraphs
_HEADING_SIZE = 1.12  # times the body's type size
_HEADING_LENGTH = 160
_HEADING_LINES = 3
_TABLE_ROWS = 3
_TABLE_ROWS_OF_MANY_CELLS = 2
_EDGE_LINES = 2
_RULES_READ = 4000  # drawings with more shapes than this are no tables


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    x0: float
    x1: float
    bottom: float
    top: float


@dataclass(frozen=True, slots=True)
class _Line:
    words: tuple[_Word, ...]
    cells: tuple[tuple[_Word, ...], ...]
    size: float
    bold: bool
    page: int

    @property
    def text(self) -> str:
        return _joined(self.words)

    @property
    def bottom(self) -> float:
        return min(word.bottom for word in self.words)

    @property
    def top(self) -> float:
        return max(word.top for word in self.words)

    @property
    def height(self) -> float:
        return self.top - self.bottom


@dataclass(frozen=True, slots=True)
class _Key:
    """What makes lines on different pages the same running line."""

    edge: str
    height: int
    text: str
    counts_pages: bool


@dataclass(frozen=True, slots=True)
class _Heading:
    text: str
    level: int
    page: int


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str
    page: int
    is_list: bool


@dataclass(frozen=True, slots=True)
class _Table:
    rows: tuple[tuple[str, ...], ...]
    page: int
    has_header: bool
    pages: tuple[tuple[int, int], ...] = ()

    @property
    def last_page(self) -> int:
        return self.pages[-1][1] if self.pages else self.page


_Element = _Heading | _Paragraph | _Table


def read_pdf(path: Path, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the PDF's blocks and pages to the builder; return its title, authors and the like."""
    document = _open(path)
    try:
        lines = _without_running_lines([_lines(page, number) for number, page in enumerate(document, start=1)])
        metadata = _metadata(document.get_metadata_dict())
    finally:
        document.close()
    _write(_joined_tables(_elements(lines)), into)
    return metadata


def _open(path: Path) -> PdfDocument:
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise _open_error(path, str(error)) from error
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read ({error}). Check its rights and its disk.") from error


def _open_error(path: Path, reason: str) -> ParseError:
    if "password" in reason.lower() or "security" in reason.lower():
        return EncryptedDocument(f"{path} is encrypted. Save a copy without its password and ingest that.")
    return CorruptDocument(f"{path} is damaged: PDFium says {reason!r}. Export or download it again.")


def _metadata(found: dict[str, str]) -> dict[str, Scalar]:
    """The entries that say what the document is, under the names that other formats use."""
    return {name: found[key] for key, name in _METADATA.items() if found.get(key)}


# Words and lines


def _lines(page: PdfPage, number: int) -> list[_Line]:
    import pypdfium2.raw as pdfium

    text_page = page.get_textpage()
    try:
        rules = _vertical_rules(page)
        groups = _word_lines(text_page.raw)
        return [_line(text_page.raw, pdfium, words, rules, number) for words in groups]
    finally:
        text_page.close()
        page.close()


def _word_lines(text_page: ctypes.c_void_p) -> Iterator[list[tuple[int, _Word]]]:
    """Lines of words with the index of each word's first character. A word beside the line begins a new one."""
    line: list[tuple[int, _Word]] = []
    for index, word, ends_line in _words(text_page):
        if line and not _beside(line[-1][1], word):
            yield line
            line = []
        line.append((index, word))
        if ends_line:
            yield line
            line = []
    if line:
        yield line


def _beside(last: _Word, word: _Word) -> bool:
    """Whether two words share a line: they overlap in height."""
    overlap = min(last.top, word.top) - max(last.bottom, word.bottom)
    return overlap > 0.3 * min(last.top - last.bottom, word.top - word.bottom)


def _words(text_page: ctypes.c_void_p) -> Iterator[tuple[int, _Word, bool]]:
    """Every word with the index of its first character, and whether a line ends after it."""
    import pypdfium2.raw as pdfium

    count = pdfium.FPDFText_CountChars(text_page)
    characters = _characters(text_page, count)
    start = 0
    while start < count:
        if characters[start].isspace():
            start += 1
            continue
        end = start + 1
        while end < count and not characters[end].isspace() and characters[end - 1] != _SOFT_HYPHEN:
            end += 1
        ends_line = end < count and (characters[end] in "\r\n" or characters[end - 1] == _SOFT_HYPHEN)
        text = "".join(characters[start:end]).replace(_SOFT_HYPHEN, "-")
        yield start, _boxed(text_page, text, start, end), ends_line
        start = end


def _characters(text_page: ctypes.c_void_p, count: int) -> list[str]:
    """The page's characters by PDFium's index; halves of surrogate pairs joined, the second half left empty."""
    import pypdfium2.raw as pdfium

    codes = [pdfium.FPDFText_GetUnicode(text_page, index) for index in range(count)]
    characters = [chr(code) if code < 0x110000 else "" for code in codes]
    for index, code in enumerate(codes):
        if 0xD800 <= code < 0xE000:
            low = codes[index + 1] if index + 1 < count else 0
            is_pair = code < 0xDC00 and 0xDC00 <= low < 0xE000
            characters[index] = chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)) if is_pair else ""
    return characters


def _boxed(text_page: ctypes.c_void_p, text: str, start: int, end: int) -> _Word:
    import pypdfium2.raw as pdfium

    first, last = pdfium.FS_RECTF(), pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(text_page, start, first)
    pdfium.FPDFText_GetLooseCharBox(text_page, end - 1, last)
    return _Word(
        text=text,
        x0=min(first.left, last.left),
        x1=max(first.right, last.right),
        bottom=min(first.bottom, last.bottom),
        top=max(first.top, last.top),
    )


def _line(
    text_page: ctypes.c_void_p,
    pdfium: ctypes.CDLL,
    words: Sequence[tuple[int, _Word]],
    rules: Sequence[tuple[float, float, float]],
    page: int,
) -> _Line:
    plain = tuple(word for _, word in words)
    return _Line(
        words=plain,
        cells=_cells(plain, rules),
        size=median(word.top - word.bottom for word in plain),
        bold=all(_is_bold(text_page, pdfium, index) for index in {words[0][0], words[-1][0]}),
        page=page,
    )


def _is_bold(text_page: ctypes.c_void_p, pdfium: ctypes.CDLL, index: int) -> bool:
    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text_page, index, name, len(name), flags)
    return bool(_BOLD.search(name.value.decode("utf-8", errors="replace")))


def _vertical_rules(page: PdfPage) -> list[tuple[float, float, float]]:
    """The upright edges of the page's drawn shapes, as (x, bottom, top): lines and cell borders of tables."""
    import pypdfium2.raw as pdfium

    rules: set[tuple[float, float, float]] = set()
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for index in range(min(pdfium.FPDFPage_CountObjects(page.raw), _RULES_READ)):
        shape = pdfium.FPDFPage_GetObject(page.raw, index)
        if pdfium.FPDFPageObj_GetType(shape) == pdfium.FPDF_PAGEOBJ_PATH:
            pdfium.FPDFPageObj_GetBounds(shape, left, bottom, right, top)
            if top.value - bottom.value > 4:
                rules.update((round(x, 1), bottom.value, top.value) for x in (left.value, right.value))
    return sorted(rules)


def _cells(words: Sequence[_Word], rules: Sequence[tuple[float, float, float]]) -> tuple[tuple[_Word, ...], ...]:
    """The words of a line as table cells: split at wide gaps, and at narrower ones with a ruled line between."""
    cells: list[list[_Word]] = [[words[0]]]
    for last, word in zip(words, words[1:], strict=False):
        is_mark = len(cells) == 1 and len(cells[0]) == 1 and _BULLET.match(last.text) or _NUMBERING.match(last.text)
        if _CURRENCY.match(last.text) or (is_mark and not _ruled(last, word, rules)) or not _apart(last, word, rules):
            cells[-1].append(word)
        else:
            cells.append([word])
    return tuple(tuple(cell) for cell in cells)


def _apart(last: _Word, word: _Word, rules: Sequence[tuple[float, float, float]]) -> bool:
    height = max(word.top - word.bottom, 1.0)
    gap = (word.x0 - last.x1) / height
    return gap > _WIDE_GAP or (gap > _RULED_GAP and _ruled(last, word, rules))


def _ruled(last: _Word, word: _Word, rules: Sequence[tuple[float, float, float]]) -> bool:
    middle = (word.top + word.bottom) / 2
    return any(last.x1 - 1 <= x <= word.x0 + 1 and bottom <= middle <= top for x, bottom, top in rules)


def _joined(words: Iterable[_Word]) -> str:
    return " ".join(word.text for word in words)


# Lines to elements


def _without_running_lines(pages: Sequence[list[_Line]]) -> list[_Line]:
    """All lines without running headers and footers: page numbers go, of repeated words one occurrence stays.

    Of a top line the first stays, of a bottom line the last, so that none stands in a table over a page break.
    """
    occurrences: dict[_Key, list[int]] = {}
    for index, lines in enumerate(pages):
        for position in range(len(lines)):
            for key in _edge_keys(lines, position):
                occurrences.setdefault(key, []).append(index)
    running = {key: where for key, where in occurrences.items() if len(set(where)) >= max(2, len(pages) / 2)}
    return [
        line
        for index, lines in enumerate(pages)
        for position, line in enumerate(lines)
        if all(index == _stays_on(key, running[key]) for key in _edge_keys(lines, position) if key in running)
    ]


def _stays_on(key: _Key, where: Sequence[int]) -> int | None:
    if key.counts_pages:
        return None
    return where[0] if key.edge == "top" else where[-1]


def _edge_keys(lines: Sequence[_Line], position: int) -> Iterator[_Key]:
    """How to recognise a line at the edge of its page on other pages: by its words, or with a number that counts."""
    edge = "top" if position < _EDGE_LINES else "bottom"
    if _EDGE_LINES <= position < len(lines) - _EDGE_LINES:
        return
    line = lines[position]
    height = round(line.bottom / 4)
    yield _Key(edge, height, line.text, counts_pages=False)
    for number in _DIGITS.finditer(line.text):
        if len(number[0]) <= 5:
            offset = int(number[0]) - line.page
            text = f"{line.text[: number.start()]}\0{offset}\0{line.text[number.end() :]}"
            yield _Key(edge, height, text, counts_pages=True)


def _elements(lines: Sequence[_Line]) -> Iterator[_Element]:
    """Headings, tables and paragraphs in reading order."""
    body = _body_size(lines)
    levels = _heading_levels(lines, body)
    position = 0
    while position < len(lines):
        end = _table_end(lines, position)
        if end > position:
            yield _table(lines[position:end])
        elif (end := _heading_end(lines, position, levels)) > position:
            level = levels[_style(lines[position])]
            yield _Heading(_text_of(lines[position:end]).replace("\n", " "), level, lines[position].page)
        else:
            end = _paragraph_end(lines, position, levels)
            yield _Paragraph(_text_of(lines[position:end]), lines[position].page, _is_item(lines[position]))
        position = end


def _text_of(lines: Sequence[_Line]) -> str:
    return "\n".join(line.text for line in lines)


def _body_size(lines: Sequence[_Line]) -> float:
    """The type size of most characters."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 1.0


def _style(line: _Line) -> tuple[float, bool]:
    return round(line.size * 2) / 2, line.bold


def _heading_levels(lines: Sequence[_Line], body: float) -> dict[tuple[float, bool], int]:
    """Styles of headings with their level: larger than the body, or bold in its size; the largest is level 1."""
    sizes = Counter(_style(line) for line in lines if len(line.cells) == 1 and len(line.text) <= _HEADING_LENGTH)
    headings = [style for style in sizes if style[0] >= body * _HEADING_SIZE or (style[1] and style[0] >= body - 0.5)]
    ranks = sorted({(size, bold and size < body * _HEADING_SIZE) for size, bold in headings}, reverse=True)
    return {
        (size, bold): min(ranks.index((size, bold and size < body * _HEADING_SIZE)) + 1, 6) for size, bold in headings
    }


def _heading_end(lines: Sequence[_Line], start: int, levels: dict[tuple[float, bool], int]) -> int:
    """Where the heading that begins at ``start`` ends; ``start`` if none does."""
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


def _continues_heading(
    first: _Line, line: _Line, previous: _Line | None, levels: dict[tuple[float, bool], int]
) -> bool:
    if len(line.cells) > 1 or _style(line) not in levels or _style(line) != _style(first) or line.page != first.page:
        return False
    return previous is None or _gap(previous, line) < _PARAGRAPH_GAP


def _gap(above: _Line, below: _Line) -> float:
    """The space between two lines in heights of the lower one; large where the text goes on elsewhere."""
    gap = (above.bottom - below.top) / max(below.height, 1.0)
    return gap if gap > -2 else 99.0


def _is_item(line: _Line) -> bool:
    return bool(_BULLET.match(line.words[0].text)) and len(line.words) > 1


def _paragraph_end(lines: Sequence[_Line], start: int, levels: dict[tuple[float, bool], int]) -> int:
    """Where the paragraph that begins at ``start`` ends: at a gap, a heading, a table, a page or another list item."""
    end = start + 1
    is_item = _is_item(lines[start])
    while (
        end < len(lines)
        and lines[end].page == lines[start].page
        and _gap(lines[end - 1], lines[end]) < _PARAGRAPH_GAP
        and (is_item or not _is_item(lines[end]))
        and _heading_end(lines, end, levels) == end
        and _table_end(lines, end) == end
    ):
        end += 1
    return end


# Tables


def _table_end(lines: Sequence[_Line], start: int) -> int:
    """Where the table that begins at ``start`` ends; ``start`` if none does. It ends with its page."""
    end = start
    while end < len(lines) and lines[end].page == lines[start].page and _is_row(lines, end, start):
        end += 1
    many_cells = max((len(line.cells) for line in lines[start:end]), default=0) > 2
    enough = _TABLE_ROWS_OF_MANY_CELLS if many_cells else _TABLE_ROWS
    return end if sum(len(line.cells) > 1 for line in lines[start:end]) >= enough else start


def _is_row(lines: Sequence[_Line], index: int, start: int) -> bool:
    """Whether a line is a row: it has cells, or it stands between such rows and fits into their first column."""
    line = lines[index]
    if len(line.cells) > 1:
        return True
    if index == start or index + 1 == len(lines) or len(lines[index - 1].cells) < 2:
        return False
    before, after = lines[index - 1], lines[index + 1]
    return len(after.cells) > 1 and after.page == line.page and line.words[-1].x1 < min(
        before.cells[1][0].x0, after.cells[1][0].x0
    )


def _table(lines: Sequence[_Line]) -> _Table:
    columns = _columns(lines)
    rows = tuple(_row(line, columns) for line in lines)
    return _Table(rows=rows, page=lines[0].page, has_header=_is_header(rows[0]))


def _is_header(row: Sequence[str]) -> bool:
    """Whether the first row of a table names its columns; a row of figures does not."""
    return not any(_FIGURE.match(cell) for cell in row[1:])


def _columns(lines: Sequence[_Line]) -> list[tuple[float, float]]:
    """The columns' extents, from the line with most cells, widened by the cells that fit one column alone."""
    widest = max(lines, key=lambda line: len(line.cells))
    columns = [(cell[0].x0, cell[-1].x1) for cell in widest.cells]
    for line in lines:
        for cell in line.cells:
            touched = _touched(cell, columns)
            if len(touched) == 1:
                left, right = columns[touched[0]]
                columns[touched[0]] = (min(left, cell[0].x0), max(right, cell[-1].x1))
    return columns


def _touched(cell: Sequence[_Word], columns: Sequence[tuple[float, float]]) -> list[int]:
    left, right = cell[0].x0, cell[-1].x1
    return [index for index, (start, end) in enumerate(columns) if left < end and start < right]


def _row(line: _Line, columns: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    """The line's cells under their columns; a cell between two columns goes to the nearer one."""
    row = [""] * len(columns)
    for cell in line.cells:
        column = (_touched(cell, columns) or [_nearest(cell, columns)])[0]
        row[column] = f"{row[column]} {_joined(cell)}".strip()
    return tuple(row)


def _nearest(cell: Sequence[_Word], columns: Sequence[tuple[float, float]]) -> int:
    middle = (cell[0].x0 + cell[-1].x1) / 2
    return min(range(len(columns)), key=lambda index: abs(sum(columns[index]) / 2 - middle))


def _joined_tables(elements: Iterable[_Element]) -> Iterator[_Element]:
    """The elements, with a table that goes on at the top of the next page as one table."""
    last: _Element | None = None
    for element in elements:
        if isinstance(last, _Table) and isinstance(element, _Table) and _goes_on(last, element):
            last = _appended(last, element)
            continue
        if last is not None:
            yield last
        last = element
    if last is not None:
        yield last


def _goes_on(table: _Table, more: _Table) -> bool:
    return more.page == table.last_page + 1 and len(more.rows[0]) == len(table.rows[0])


def _appended(table: _Table, more: _Table) -> _Table:
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
                into.list_items(element.text.splitlines())
            case _Paragraph():
                into.prose(element.text)
            case _Table():
                into.table(element.rows, has_header=element.has_header, pages=element.pages)
                page = element.last_page

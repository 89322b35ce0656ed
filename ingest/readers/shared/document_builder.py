"""Builds a ParsedDocument block by block, so every offset is correct by construction.

Owns the text format: blocks are separated by a blank line, headings are plain lines, list items begin with ``- `` or
``1. ``, tables are Markdown pipe tables. There is no emphasis markup, because quotes are compared with the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from base.text import without_surrogates
from ingest.document import Block, BlockKind, ParsedDocument
from ingest.fields import TAGS, read_fields
from ingest.readers.shared.header_rows import fill_heads, is_title, merge_headers, merged_height, record_starts
from vectorstore.models import FieldValue, PageSpan, Scalar

PageBreaks = Sequence[tuple[int, int]]
"""Page breaks inside a block: the index of the first line or row of a page, and the page's number."""

BETWEEN_BLOCKS = "\n\n"
_MAX_LABEL = 40  # characters of a page label
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff]")
_LINE_ENDS = re.compile(r"\r\n?")
_TRAILING = re.compile(r"(?<![ \t])[ \t]+$", re.MULTILINE)  # from the first blank of a row only: linear time


def clean(text: str) -> str:
    """Remove control characters, single surrogates and trailing spaces, and convert all line ends to ``\\n``."""
    return _TRAILING.sub("", _UNPRINTABLE.sub("", _LINE_ENDS.sub("\n", without_surrogates(text))))


class DocumentBuilder:
    """Collects blocks in reading order. ``page`` sets the page of the blocks that follow."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        """The texts of all blocks so far, and what is between them."""
        self.length = 0
        """The number of characters of all blocks so far."""
        self._blocks: list[Block] = []
        self._page_starts: list[tuple[int, int]] = []
        self._labels: dict[int, str] = {}
        self._warnings: list[str] = []
        self._counts: Counter[str] = Counter()
        self._fields: dict[str, FieldValue] = {}

    @property
    def is_empty(self) -> bool:
        """Whether the document has no block yet."""
        return not self._blocks

    @property
    def text(self) -> str:
        """The text of all blocks so far."""
        return "".join(self.parts)

    def sheet(self, tables: Sequence[Sequence[Sequence[str]]], *, sheets: int = 1) -> None:
        """Add the tables of a sheet, and count their rows without the headers for the metadata of the document."""
        for table in tables:
            self.table(table)
        rows = sum(max(sum(any(map(str.strip, row)) for row in table) - 1, 0) for table in tables)
        self._counts.update({"sheets": sheets, "rows": rows} if sheets else {"rows": rows})

    def describe(self, fields: Iterable[tuple[object, object]]) -> None:
        """Add fields that the file states, and warn about those that are left out."""
        self._fields |= read_fields(fields, self.warn)

    def tag(self, tags: Iterable[str]) -> None:
        """Add tags to those of the fields."""
        stated = self._fields.get(TAGS, ())
        self.describe([(TAGS, (*(stated if isinstance(stated, tuple) else ()), *tags))])

    def warn(self, warning: str) -> None:
        """Add a warning for the user about how the document was read."""
        self._warnings.append(warning)

    def warn_of_other_files(self, names: Iterable[str]) -> None:
        """Warn that the document includes these files, which are never read with it."""
        if listed := ", ".join(dict.fromkeys(names)):
            self.warn(f"Files that it includes were not read: {listed}. Ingest them as well.")

    def page(self, number: int) -> None:
        """Start page ``number``."""
        self._page_starts.append((number, self.length))

    def label_page(self, number: int, label: str) -> None:
        """Set what is printed as the number of page ``number``. Nothing is stored if that is the number itself."""
        label = " ".join(clean(label).split())[:_MAX_LABEL]
        if label and label != str(number):
            self._labels[number] = label

    def heading(self, text: str, level: int) -> None:
        """Add a heading, on one line. ``level`` 1 is the outermost."""
        self._add(BlockKind.HEADING, " ".join(clean(text).split()), level=max(level, 1))

    def prose(self, text: str, pages: PageBreaks = ()) -> None:
        """Add a paragraph with its line breaks. ``pages`` are the page breaks inside it."""
        text = clean(text).strip()
        self._mark_pages(text.split("\n"), pages)
        self._add(BlockKind.PROSE, text)

    def code(self, text: str) -> None:
        """Add code or preformatted text with its indentation."""
        self._add(BlockKind.CODE, clean(text).strip("\n"))

    def list_items(self, lines: Sequence[str], pages: PageBreaks = ()) -> None:
        """Add a list. Its lines include markers and indentation. ``pages`` are the page breaks inside it."""
        kept = [clean(line).rstrip() for line in lines if line.strip()]
        self._mark_pages(kept, pages)
        self._add(BlockKind.LIST, "\n".join(kept).strip("\n"))

    def contents(self, lines: Sequence[str]) -> None:
        """Add a table of contents, one entry per line."""
        self._add(BlockKind.CONTENTS, "\n".join(clean(line).strip() for line in lines))

    def table(
        self, rows: Sequence[Sequence[str]], *, has_header: bool = True, header_rows: int = 1, pages: PageBreaks = ()
    ) -> None:
        """Add a table. ``pages`` are the page breaks inside it.

        If ``has_header``, its header are the first ``header_rows``, or more if a merged head needs the row below. They
        become one row, with the heads of each column joined. A list of records becomes one table for each record.
        """
        kept = [row for row in rows if any(cell.strip() for cell in row)]
        starts = record_starts(kept)
        for start, end in pairwise([*starts, len(kept)]):
            inside = [(row - start, page) for row, page in pages if start <= row < end]
            self._table(kept[start:end], has_header and len(starts) == 1, header_rows, inside)

    def _table(self, kept: Sequence[Sequence[str]], has_header: bool, header_rows: int, pages: PageBreaks) -> None:
        width = max(len(row) for row in kept)
        if has_header and not pages:
            padded = [[cell.strip() for cell in row] + [""] * (width - len(row)) for row in kept]
            if is_title(padded):
                self.prose(padded[0][0])
                kept, padded, header_rows = kept[1:], padded[1:], header_rows - 1
            padded = list(fill_heads(padded))
            height = min(max(header_rows, merged_height(padded)), len(kept))
            if height > 1:
                kept = [merge_headers(padded[:height]), *kept[height:]]
        lines = [_pipe_row(row, width) for row in kept]
        if has_header:
            lines.insert(1, "|" + " --- |" * width)
        self._mark_pages(lines, [(row + has_header, page) for row, page in pages])
        self._add(
            BlockKind.TABLE, "\n".join(lines), header_end=len(lines[0]) + 1 + len(lines[1]) if has_header else None
        )

    def _mark_pages(self, lines: Sequence[str], pages: PageBreaks) -> None:
        start = self.length + (len(BETWEEN_BLOCKS) if self.parts else 0)
        for line, number in pages:
            self._page_starts.append((number, start + sum(len(above) + 1 for above in lines[:line])))

    def _add(self, kind: BlockKind, text: str, level: int = 0, header_end: int | None = None) -> None:
        if not text.strip():
            return
        if self.parts:
            self.parts.append(BETWEEN_BLOCKS)
            self.length += len(BETWEEN_BLOCKS)
        start = self.length
        self.parts.append(text)
        self.length += len(text)
        self._blocks.append(
            Block(
                kind=kind,
                start=start,
                end=self.length,
                level=level,
                header_end=None if header_end is None else start + header_end,
            )
        )

    def build(
        self,
        *,
        parser: str,
        mime_type: str,
        title: str = "",
        metadata: dict[str, Scalar] | None = None,
        warnings: Sequence[str] = (),
    ) -> ParsedDocument:
        """Return the document as collected so far."""
        return ParsedDocument(
            text=self.text,
            blocks=tuple(self._blocks),
            pages=self._pages(),
            title=" ".join(clean(title).split()),
            metadata={**(metadata or {}), **self._counts},
            fields=self._fields,
            mime_type=mime_type,
            parser=parser,
            warnings=(*warnings, *self._warnings),
        )

    def _pages(self) -> tuple[PageSpan, ...]:
        """Return the pages. Each ends where the next one begins. Pages without text are omitted."""
        following = [*self._page_starts[1:], (0, self.length)]
        return tuple(
            PageSpan(number=number, start=start, end=end, label=self._labels.get(number, ""))
            for (number, start), (_, end) in zip(self._page_starts, following, strict=False)
            if end > start
        )


def _pipe_row(cells: Sequence[str], width: int) -> str:
    """Format one row as Markdown. Line breaks in cells become blanks; pipes are escaped."""
    padded = [*cells, *[""] * (width - len(cells))]
    return "| " + " | ".join(" ".join(clean(cell).split()).replace("|", "\\|") for cell in padded) + " |"

"""Puts a ParsedDocument together block by block, so that every offset is right by construction.

Owns the written form of the text: blocks stand apart by a blank line, headings are plain lines, list items begin with
``- `` or ``1. ``, tables are Markdown pipe tables. No emphasis marks: quotes are compared with the source's words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ingest.document import Block, BlockKind, ParsedDocument
from vectorstore.models import PageSpan, Scalar

PageBreaks = Sequence[tuple[int, int]]
"""Where pages begin in a block: the line or row that is the first of a page, and the page's number."""

BETWEEN_BLOCKS = "\n\n"
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff]")
_LINE_ENDS = re.compile(r"\r\n?")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)


def clean(text: str) -> str:
    """The text without control characters, with ``\\n`` as its only line end and no blanks at line ends."""
    return _TRAILING.sub("", _UNPRINTABLE.sub("", _LINE_ENDS.sub("\n", text)))


class DocumentBuilder:
    """Collects blocks in reading order; ``page`` says on which page the following ones stand."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._page_starts: list[tuple[int, int]] = []
        self._warnings: list[str] = []

    @property
    def is_empty(self) -> bool:
        """Whether no block was added yet."""
        return not self._blocks

    def warn(self, warning: str) -> None:
        """Note what a person should know about how the document was read."""
        self._warnings.append(warning)

    def page(self, number: int) -> None:
        """What follows stands on page ``number``."""
        self._page_starts.append((number, self._length))

    def heading(self, text: str, level: int) -> None:
        """A heading on one line; ``level`` 1 is the outermost."""
        self._add(BlockKind.HEADING, " ".join(clean(text).split()), level=max(level, 1))

    def prose(self, text: str, pages: PageBreaks = ()) -> None:
        """A paragraph; its line breaks are kept. ``pages`` says where pages begin in it."""
        text = clean(text).strip()
        self._mark_pages(text.split("\n"), pages)
        self._add(BlockKind.PROSE, text)

    def code(self, text: str) -> None:
        """Code or preformatted text, indentation kept."""
        self._add(BlockKind.CODE, clean(text).strip("\n"))

    def list_items(self, lines: Sequence[str], pages: PageBreaks = ()) -> None:
        """A list whose items already carry their marks and indentation. ``pages`` says where pages begin in it."""
        kept = [clean(line).rstrip() for line in lines if line.strip()]
        self._mark_pages(kept, pages)
        self._add(BlockKind.LIST, "\n".join(kept).strip("\n"))

    def table(self, rows: Sequence[Sequence[str]], *, has_header: bool = True, pages: PageBreaks = ()) -> None:
        """A table, its header in the first row if it has one; ``pages`` says where pages begin in it."""
        kept = [row for row in rows if any(cell.strip() for cell in row)]
        if not kept:
            return
        width = max(len(row) for row in kept)
        lines = [_pipe_row(row, width) for row in kept]
        if has_header:
            lines.insert(1, "|" + " --- |" * width)
        self._mark_pages(lines, [(row + has_header, page) for row, page in pages])
        self._add(
            BlockKind.TABLE, "\n".join(lines), header_end=len(lines[0]) + 1 + len(lines[1]) if has_header else None
        )

    def _mark_pages(self, lines: Sequence[str], pages: PageBreaks) -> None:
        start = self._next_start()
        for line, number in pages:
            self._page_starts.append((number, start + sum(len(above) + 1 for above in lines[:line])))

    def _next_start(self) -> int:
        return self._length + (len(BETWEEN_BLOCKS) if self._parts else 0)

    def _add(self, kind: BlockKind, text: str, level: int = 0, header_end: int | None = None) -> None:
        if not text.strip():
            return
        if self._parts:
            self._parts.append(BETWEEN_BLOCKS)
            self._length += len(BETWEEN_BLOCKS)
        start = self._length
        self._parts.append(text)
        self._length += len(text)
        self._blocks.append(
            Block(
                kind=kind,
                start=start,
                end=self._length,
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
        """The document as collected so far."""
        return ParsedDocument(
            text="".join(self._parts),
            blocks=tuple(self._blocks),
            pages=self._pages(),
            title=" ".join(title.split()),
            metadata=metadata or {},
            mime_type=mime_type,
            parser=parser,
            warnings=(*warnings, *self._warnings),
        )

    def _pages(self) -> tuple[PageSpan, ...]:
        """Each page reaches to where the next one begins; a page without text has an empty span and is left out."""
        following = [*self._page_starts[1:], (0, self._length)]
        return tuple(
            PageSpan(number=number, start=start, end=end)
            for (number, start), (_, end) in zip(self._page_starts, following, strict=False)
            if end > start
        )


def _pipe_row(cells: Sequence[str], width: int) -> str:
    """One row as Markdown: line breaks in a cell become blanks, a pipe in it is escaped."""
    padded = [*cells, *[""] * (width - len(cells))]
    return "| " + " | ".join(" ".join(clean(cell).split()).replace("|", "\\|") for cell in padded) + " |"

"""Reads parts of a document's text, finds a text in it, and lists its passages."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from unicodedata import normalize

from pydantic import Field

from base.models import FrozenModel
from ingest.errors import PageNotShown
from ingest.ledger.records import DocumentRecord, DocumentText
from vectorstore.models import Chunk, ChunkFilter, PageLabels, PrintedPages, page_labels
from vectorstore.store import Collection

_AROUND = 60  # characters shown before and after a found text


class TextPart(DocumentText):
    """A part of the parsed text, with the blocks and pages that overlap it. Their offsets refer to the whole text."""

    start: int = Field(default=0, description="Offset of the part in the whole text.")
    length: int = Field(description="Length of the whole text.")
    page_count: int = Field(description="Number of the last page with text. 0 for documents without pages.")
    page_labels: PageLabels = Field(default_factory=dict)


class TextMatch(FrozenModel):
    """A match of a text in a document. Start and end are offsets in the parsed text."""

    start: int
    end: int
    page: int | None = Field(description="Null for documents without pages.")
    printed_pages: PrintedPages = ""
    before: str = Field(description="The text before the match.")
    text: str
    after: str = Field(description="The text after the match.")


class Places(FrozenModel):
    """The matches of a text in a document."""

    total: int = Field(description="Number of matches in the document.")
    places: tuple[TextMatch, ...]


def text_part(text: DocumentText, start: int = 0, limit: int | None = None) -> TextPart:
    """Return at most ``limit`` characters of the text from ``start``."""
    first = min(start, len(text.text))
    last = len(text.text) if limit is None else min(first + limit, len(text.text))
    return _cut(text, first, last)


def page_number(text: DocumentText, wanted: str) -> int:
    """Return the number of the page with this number or printed number. Raises PageNotShown."""
    number = int(wanted) if wanted.isdecimal() else 0
    if number and (number <= max((span.number for span in text.pages), default=number)):
        return number
    for span in text.pages:
        if span.label.casefold() == wanted.casefold():
            return span.number
    if number:
        return number  # page_text names the existing pages
    raise PageNotShown(f"No page has the printed number {wanted!r}. Give the number of a page, from 1.")


def page_text(document: DocumentRecord, text: DocumentText, page: int) -> TextPart:
    """Return the text of a page, which may be empty. Raises PageNotShown, which names the existing pages."""
    if not text.pages:
        raise PageNotShown(f"{document.name!r} has no pages. Read the whole text instead.")
    count = max(document.pages, text.pages[-1].number)
    if page > count:
        raise PageNotShown(f"{document.name!r} has {count} {'page' if count == 1 else 'pages'}; {page} is not one.")
    spans = [span for span in text.pages if span.number == page]
    if not spans:
        end = max((span.end for span in text.pages if span.number < page), default=0)
        return _cut(text, end, end)
    return _cut(text, min(span.start for span in spans), max(span.end for span in spans))


def _cut(text: DocumentText, first: int, last: int) -> TextPart:
    return TextPart(
        text=text.text[first:last],
        blocks=tuple(block for block in text.blocks if block.start < last and first < block.end),
        pages=tuple(span for span in text.pages if span.start < last and first < span.end),
        start=first,
        length=len(text.text),
        page_count=text.pages[-1].number if text.pages else 0,
        page_labels=page_labels(text.pages),
    )


def find_text(text: DocumentText, wanted: str, first: int, limit: int) -> Places:
    """Return the matches of a text from number ``first`` (from 0). Ignores case, white space and forms of accents."""
    forms = dict.fromkeys(normalize(form, wanted) for form in ("NFC", "NFD"))
    pattern = re.compile("|".join(r"\s+".join(map(re.escape, each.split())) for each in forms), re.IGNORECASE)
    found = [match.span() for match in pattern.finditer(text.text)]
    starts = [span.start for span in text.pages]
    places = (_place(text, span, starts) for span in found[first : first + limit])
    return Places(total=len(found), places=tuple(places))


def _place(text: DocumentText, span: tuple[int, int], page_starts: Sequence[int]) -> TextMatch:
    start, end = span
    page = text.pages[max(0, bisect_right(page_starts, start) - 1)] if text.pages else None
    return TextMatch(
        start=start,
        end=end,
        page=page.number if page else None,
        printed_pages=page.label if page else "",
        before=text.text[max(0, start - _AROUND) : start],
        text=text.text[start:end],
        after=text.text[end : end + _AROUND],
    )


def passages(opened: Collection, document: DocumentRecord, first: int, limit: int) -> list[Chunk]:
    """Return the passages of a document from index ``first``, in order. Raises StoreError."""
    wanted = ChunkFilter(documents=(document.id,), positions=(first, first + limit - 1))
    return list(opened.scan(wanted))

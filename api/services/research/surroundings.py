"""Returns all quotes of an answer with the surrounding text and their positions on the pages."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum

from pydantic import Field

from api.errors import OriginalGone
from api.services.documents.shown_pages import ShownPages
from api.services.research.kept_text import RunSources, place_in
from base.models import FrozenModel
from ingest.errors import PageNotShown
from ingest.ledger.records import DocumentText
from ingest.pages.request import PageBox
from multi_agent.values.answer import Quote
from vectorstore.models import PageLabels, PageSpan, page_labels

_AROUND = 1800  # characters before and after the quote
LOCATE_S = 3.0  # time limit for locating quotes; quotes that were not located in time are returned without positions


class SourceState(StrEnum):
    """The state of the source of a quote."""

    FOUND = "found"
    MOVED = "moved"
    CHANGED = "changed"
    MISSING = "missing"


class MarkedPage(FrozenModel):
    """The position of a quote on a page."""

    page: int
    boxes: tuple[PageBox, ...] = Field(
        description="Left, top, right and bottom of each line as fractions of the page. Empty if uncertain."
    )


class Surroundings(FrozenModel):
    """A quote with the surrounding text. Start and end are offsets in the whole text of its source."""

    number: int = Field(description="Number of the evidence in the answer.")
    state: SourceState = Field(
        description="With 'moved', the text has changed and has the quote at another place. With 'changed' and "
        "'missing', the source no longer has the quote."
    )
    quote: Quote | None = Field(default=None, description="The quote with its place in the text of today, if it moved.")
    text: str = Field(default="", description="The quote with the surrounding text.")
    start: int = Field(default=0, description="Offset of the text.")
    length: int = Field(default=0, description="Length of the whole text.")
    pages: tuple[PageSpan, ...] = Field(default=(), description="The pages of the text.")
    page_count: int = Field(default=0, description="0 without pages.")
    page_labels: PageLabels = Field(default_factory=dict)
    marked: tuple[MarkedPage, ...] = Field(default=(), description="Positions on pages, if requested and located.")


async def surroundings(sources: RunSources, pages: ShownPages | None) -> list[Surroundings]:
    """Return every quote of an answer with its surroundings. With ``pages``, locate the quotes on their pages."""
    found = await asyncio.to_thread(lambda: [_around(sources.text(quote), quote) for quote in sources.quotes])
    if pages is None:
        return found
    there = [each.quote or quote for each, quote in zip(found, sources.quotes, strict=True) if each.text]
    located = await _locate(pages, sources, there)
    return [each.model_copy(update={"marked": tuple(located.get(each.number, ()))}) for each in found]


def _around(source: DocumentText | None, quote: Quote) -> Surroundings:
    """Return the quote with the surrounding text."""
    if source is None:
        return Surroundings(number=quote.number, state=SourceState.MISSING)
    if (now := place_in(source, quote)) is None:
        return Surroundings(number=quote.number, state=SourceState.CHANGED)
    start, end = max(0, now.start - _AROUND), min(len(source.text), now.end + _AROUND)
    return Surroundings(
        number=quote.number,
        state=SourceState.FOUND if now == quote else SourceState.MOVED,
        quote=None if now == quote else now,
        text=source.text[start:end],
        start=start,
        length=len(source.text),
        pages=tuple(span for span in source.pages if span.start < end and start < span.end),
        page_count=source.pages[-1].number if source.pages else 0,
        page_labels=page_labels(source.pages),
    )


async def _locate(pages: ShownPages, sources: RunSources, quotes: Iterable[Quote]) -> dict[int, list[MarkedPage]]:
    """Locate the quotes of each page together. Omits pages that cannot be rendered or not in time."""
    by_page: defaultdict[tuple[str, int], list[Quote]] = defaultdict(list)
    for quote in quotes:
        if quote.document_id in sources.records and not quote.picture:
            for page in quote.pages:
                by_page[quote.document_id, page].append(quote)
    located: defaultdict[int, list[MarkedPage]] = defaultdict(list)

    async def locate(document: str, page: int, here: list[Quote]) -> None:
        try:
            found = await pages.locate(sources.records[document], page, [(each.start, each.end) for each in here])
        except (PageNotShown, OriginalGone):
            return  # opening the page reports the error
        for quote, boxes in zip(here, found.marks, strict=True):
            located[quote.number].append(MarkedPage(page=page, boxes=boxes))

    with suppress(TimeoutError):
        async with asyncio.timeout(LOCATE_S):
            await asyncio.gather(*(locate(*place, here) for place, here in by_page.items()))
    return located

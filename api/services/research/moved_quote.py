"""Finds a quote of an earlier answer in the text of today.

An edit or a new reader may have moved the quote, and broken its lines at other places.
"""

from __future__ import annotations

from ingest.ledger.records import DocumentText
from multi_agent.grounding.quotes import places
from multi_agent.values.answer import Quote
from vectorstore.models import page_labels, printed_pages


def place_in(source: DocumentText, quote: Quote) -> Quote | None:
    """Return the quote with its offsets and pages in the text; None if the text no longer contains it.

    Of several places, the one nearest to the old offset counts. White space, quotation marks and dashes may differ.
    """
    text = source.text
    if quote.picture or text[quote.start : quote.end] == quote.quote:
        return quote
    if (place := min(places(quote.quote, text), key=lambda place: abs(place[0] - quote.start), default=None)) is None:
        return None
    start, end = place
    pages = tuple(page.number for page in source.pages if page.start < end and start < page.end)
    printed = printed_pages(page_labels(source.pages), pages)
    moved = {"start": start, "end": end, "quote": text[start:end], "pages": pages, "printed_pages": printed}
    return quote.model_copy(update=moved)

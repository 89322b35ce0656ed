"""Finds a quote of an earlier answer in the text of today.

An edit or a new reader may have moved the quote, and broken its lines at other places.
"""

from __future__ import annotations

import re

from ingest.ledger.records import DocumentText
from multi_agent.grounding.quotes import at_boundaries
from multi_agent.values.answer import Quote
from vectorstore.models import page_labels, printed_pages


def place_in(source: DocumentText, quote: Quote) -> Quote | None:
    """Return the quote with its offsets and pages in the text; None if the text no longer contains it.

    Of several places, the one nearest to the old offset counts. Words must be the same, the white space need not be.
    """
    text = source.text
    if quote.picture or text[quote.start : quote.end] == quote.quote:
        return quote
    pattern = re.compile(r"\s+".join(map(re.escape, quote.quote.split())))
    places = (found.span() for found in pattern.finditer(text) if at_boundaries(text, *found.span()))
    if (place := min(places, key=lambda place: abs(place[0] - quote.start), default=None)) is None:
        return None
    start, end = place
    pages = tuple(page.number for page in source.pages if page.start < end and start < page.end)
    printed = printed_pages(page_labels(source.pages), pages)
    moved = {"start": start, "end": end, "quote": text[start:end], "pages": pages, "printed_pages": printed}
    return quote.model_copy(update=moved)

"""Descriptions of the sources of quotes."""

from __future__ import annotations

from multi_agent.prompts.show_passages import show_pages
from multi_agent.values.answer import Quote
from multi_agent.values.sources import describe_origin
from vectorstore.models import GivenPassage


def describe_place(quote: Quote) -> str:
    """Return the document and its pages, or the headings above the quote. For other sources, the web page or tool."""
    if quote.origin and not isinstance(quote.origin, GivenPassage):
        return describe_origin(quote.origin)
    section = f"§ {' › '.join(quote.section)}" if quote.section and not quote.pages else ""
    given = describe_origin(quote.origin) if quote.origin else ""
    return ", ".join(filter(None, (quote.name, show_pages(quote.pages, quote.printed_pages), section, given)))

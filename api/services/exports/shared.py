"""The page of a shared answer: its HTML export with pictures of the pages that it cites."""

from __future__ import annotations

import asyncio
import base64

from api.errors import OriginalGone
from api.services.documents.documents import Documents
from api.services.documents.shown_pages import ShownPages
from api.services.exports.export import render_page
from ingest.errors import DocumentNotFound, PageNotShown
from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer
from vectorstore.joined import part_of

_MOST_PICTURES = 30
_SCALE = 1.5  # pixels per point


async def shared_page(run: RunSummary, answer: Answer, documents: Documents, pages: ShownPages) -> bytes:
    """Return the page. It says which pages it does not show: those of changed files, and those above the limit."""
    cited = [quote for quote in answer.cited if quote.pages and not quote.origin]
    pictures = {str(quote.number): "" for quote in cited}
    for quote in cited[:_MOST_PICTURES]:
        try:
            name = part_of(run.collection, quote.name)
            document = await asyncio.to_thread(documents.find, quote.document_id, name)
            _, image = await pages.show(document, quote.pages[0], ((quote.start, quote.end),), _SCALE)
        except (DocumentNotFound, PageNotShown, OriginalGone):
            continue
        pictures[str(quote.number)] = f"data:image/png;base64,{base64.b64encode(image).decode()}"
    return render_page(run, answer, pictures)

"""The pictures of the page regions that an answer cites."""

import asyncio
from collections import defaultdict
from io import BytesIO
from itertools import islice

from PIL import Image

from api.errors import InBin, OriginalGone
from api.services.documents.documents import Documents
from api.services.documents.shown_pages import ShownPages
from ingest.errors import IngestError
from ingest.pages.request import PageBox
from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer, Quote
from vectorstore.errors import StoreError
from vectorstore.joined import part_of

_MOST_PAGES = 60
_SCALE = 1.5  # pixels per point
_AROUND = 0.06  # share of the page's height that is shown above and below a quote


async def draw_regions(run: RunSummary, answer: Answer, documents: Documents, pages: ShownPages) -> dict[str, bytes]:
    """Return a PNG picture of the cited page region for each quote, by the number of the quote.

    The bytes are empty if the page cannot be shown, because the file has changed or its format has no pages, and for
    pages after the first 60.
    """
    cited: defaultdict[tuple[str, str, int], list[Quote]] = defaultdict(list)
    for quote in answer.cited:
        if quote.pages and not quote.origin:
            cited[quote.document_id, quote.name, quote.pages[0]].append(quote)

    async def draw(place: tuple[str, str, int], quotes: list[Quote]) -> None:
        key, name, page = place
        try:
            document = await asyncio.to_thread(documents.find, key, part_of(run.collection, name))
            drawn, image = await pages.show(document, page, [(each.start, each.end) for each in quotes], _SCALE)
        except (StoreError, IngestError, InBin, OriginalGone):  # the export says that the page is not shown
            return
        for quote, boxes in zip(quotes, drawn.marks, strict=True):
            pictures[str(quote.number)] = await asyncio.to_thread(_crop, image, boxes)

    pictures = {str(quote.number): b"" for quotes in cited.values() for quote in quotes}
    try:
        async with asyncio.TaskGroup() as group:
            for place, quotes in islice(cited.items(), _MOST_PAGES):
                group.create_task(draw(place, quotes))
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return pictures


def _crop(image: bytes, boxes: tuple[PageBox, ...]) -> bytes:
    """Return the strip of the page that contains the boxes. Without boxes, return the whole page."""
    if not boxes:
        return image
    with Image.open(BytesIO(image)) as page:
        top, bottom = min(box[1] for box in boxes) - _AROUND, max(box[3] for box in boxes) + _AROUND
        corners = (0, int(max(top, 0.0) * page.height), page.width, int(min(bottom, 1.0) * page.height))
        page.crop(corners).save(out := BytesIO(), "PNG")
    return out.getvalue()

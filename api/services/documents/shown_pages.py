"""Shows pages of documents as pictures with marked text. Caches the latest pictures in memory."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AsyncExitStack

from api.services.documents.originals import open_original
from base.installation import own_version
from ingest.errors import PageNotShown
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord
from ingest.pages.renderer import PageRenderer, make_page_request
from ingest.pages.request import Mark, RenderedPage

_RENDERED_TYPES = ("application/pdf", "image/")
_KEPT_BYTES = 64 << 20
_ENTRY_BYTES = 2048  # added to the size of each cached picture

PICTURE_SCALE = 2.0
"""Pixels per point of pictures, unless the request has another scale."""

Shown = tuple[RenderedPage, bytes]


class ShownPages:
    """Renders pages and caches at most ``kept_bytes`` of their pictures. Belongs to one event loop.

    A cached picture is shown even if the file has changed, because it shows the version that was ingested.
    """

    def __init__(
        self, renderer: PageRenderer, ledger: Ledger, max_member_mb: int, *, kept_bytes: int = _KEPT_BYTES
    ) -> None:
        self._renderer, self._ledger, self._max_member_mb = renderer, ledger, max_member_mb
        self._kept: OrderedDict[str, Shown] = OrderedDict()
        self._room = kept_bytes

    async def show(self, document: DocumentRecord, page: int, marks: Sequence[Mark], scale: float) -> Shown:
        """Return the page with its boxes and its picture (none for scale 0). Raises PageNotShown, OriginalGone."""
        key = page_tag(document, page, marks, scale)
        if key not in self._kept:
            self._keep(key, await self._draw(document, page, marks, scale))
        return self._use(key)

    async def locate(self, document: DocumentRecord, page: int, marks: Sequence[Mark]) -> RenderedPage:
        """Return the page with the boxes of each mark. Caches its picture without marks, which is shown next.

        Raises PageNotShown, OriginalGone.
        """
        key, picture = page_tag(document, page, marks, 0.0), page_tag(document, page, (), PICTURE_SCALE)
        if key in self._kept:
            return self._use(key)[0]
        scale = 0.0 if picture in self._kept else PICTURE_SCALE
        located, image = await self._draw(document, page, marks, scale, highlight=False)
        if image:
            self._keep(picture, (located.model_copy(update={"marks": ()}), image))
        self._keep(key, (located, b""))
        return located

    async def _draw(
        self, document: DocumentRecord, page: int, marks: Sequence[Mark], scale: float, *, highlight: bool = True
    ) -> Shown:
        if not document.mime_type.startswith(_RENDERED_TYPES):
            raise PageNotShown(f"{document.name!r} is neither a PDF nor an image, so it has no pages to render.")
        text = await asyncio.to_thread(self._ledger.text, document.collection, document.id)
        async with AsyncExitStack() as stack:
            original = open_original(self._ledger, document, self._max_member_mb)
            path = await asyncio.to_thread(original.__enter__)
            stack.push(original)
            request = make_page_request(path, page, text.text, text.pages, marks, scale)
            return await self._renderer.render(request.model_copy(update={"highlight": highlight}))

    def _use(self, key: str) -> Shown:
        self._kept.move_to_end(key)
        return self._kept[key]

    def _keep(self, key: str, shown: Shown) -> None:
        """Cache the page and evict the least recently shown pages."""
        if key not in self._kept:
            self._kept[key] = shown
            self._room -= _size(shown)
        while self._room < 0 and len(self._kept) > 1:
            self._room += _size(self._kept.popitem(last=False)[1])


def page_tag(document: DocumentRecord, page: int, marks: Sequence[Mark], scale: float) -> str:
    """Return an ETag for the picture of a page. Depends on the document, its parsed text and the version of Candor."""
    read = (document.collection, document.id, document.version, document.parser, document.read_at)
    named = repr((own_version(), *read, page, tuple(marks), scale))
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def _size(shown: Shown) -> int:
    return len(shown[1]) + _ENTRY_BYTES

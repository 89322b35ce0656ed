"""Draws pictures of pages for models, without marks and in a size that models can read."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from api.errors import OriginalGone
from api.services.documents.originals import open_original
from ingest.errors import IngestError
from ingest.ledger.ledger import Ledger
from ingest.pages.renderer import draw_for_model
from multi_agent.errors import PictureUnavailable
from vectorstore.models import Chunk

_AT_ONCE = 2  # pages drawn in parallel


class PagePictureDrawer:
    """Draws pages of documents in all collections. Calls block. Thread-safe."""

    def __init__(self, ledger: Ledger, max_member_mb: int) -> None:
        self._ledger, self._max_member_mb = ledger, max_member_mb
        self._slots = threading.BoundedSemaphore(_AT_ONCE)

    def draw(self, collection: str, chunk: Chunk, page: int) -> bytes:
        """Return the picture of a page of the chunk's document, as PNG. Raises PictureUnavailable."""
        with self._slots, _picture_errors(chunk, page):
            document = self._ledger.find(collection, chunk.document_id)
            if document.version != chunk.version:
                raise OriginalGone("The document has changed since the passage was found. Ask again.")
            with open_original(self._ledger, document, self._max_member_mb) as path:
                return draw_for_model(path, page)


@contextmanager
def _picture_errors(chunk: Chunk, page: int) -> Iterator[None]:
    try:
        yield
    except (OriginalGone, IngestError) as error:
        raise PictureUnavailable(
            f"The picture of page {page} of {chunk.name!r} cannot be sent to the model. {error} To use only the text, "
            "set `vision` of the model's endpoint to 'off'."
        ) from error

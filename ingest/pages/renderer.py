"""Renders page images of documents, each in its own child process.

Limits the time, the memory and the number of these processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from base.process import ChildProcess
from ingest.errors import PageNotShown
from ingest.pages.request import Mark, PageRequest, RenderedPage
from vectorstore.models import PageSpan

_MAX_PROCESSES = 2
_TIMEOUT_S = 20.0
_EXIT_TIMEOUT_S = 2.0  # after the connection has closed
_MEMORY_MB = 2048
_MODEL_SCALE = 2.0  # pixels per point, for small pages
_MODEL_LONGEST = 1_400  # pixels: keeps 8-point print on A4 legible; models scale larger images down


class PageRenderer:
    """Renders pages. Belongs to one event loop."""

    def __init__(self, *, timeout_s: float = _TIMEOUT_S, memory_mb: int = _MEMORY_MB) -> None:
        self._timeout_s, self._memory_mb = timeout_s, memory_mb
        self._slots = asyncio.Semaphore(_MAX_PROCESSES)

    async def render(self, request: PageRequest) -> tuple[RenderedPage, bytes]:
        """Return the page and its PNG image. The image is empty for scale 0. Raises PageNotShown."""
        async with self._slots:
            page, image = await self._run(request)
        if page.error:
            raise PageNotShown(f"The page cannot be shown: {page.error}.")
        return page, image

    async def _run(self, request: PageRequest) -> tuple[RenderedPage, bytes]:
        limits = [self._memory_mb, round(self._timeout_s) + 1]
        process = ChildProcess("ingest.pages.draw:main", arguments=limits, capture_output=True)
        name = Path(request.path).name
        try:
            return await asyncio.wait_for(asyncio.to_thread(_exchange, process, request), self._timeout_s)
        except TimeoutError as error:
            raise PageNotShown(
                f"Page {request.page} of {name!r} takes more than {self._timeout_s:g} s to render."
            ) from error
        except (EOFError, OSError) as error:
            raise PageNotShown(
                f"Page {request.page} of {name!r} ended the process that rendered it ({error}): the file is damaged, "
                "or takes too much memory."
            ) from error
        finally:
            process.kill()  # also after a timeout or a cancelled request; the thread closes the process


def _exchange(process: ChildProcess, request: PageRequest) -> tuple[RenderedPage, bytes]:
    """Send the request and wait for the response. Raises EOFError with the exit description."""
    with process:
        [connection] = process.connections
        try:
            connection.send_bytes(request.model_dump_json().encode())
            return RenderedPage.model_validate_json(connection.recv_bytes()), connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise EOFError(process.wait(_EXIT_TIMEOUT_S)) from error


def draw_for_model(path: Path, page: int) -> bytes:
    """Return a PNG image of the page in a size that suits models. Blocks the thread. Raises PageNotShown."""
    request = PageRequest(path=str(path), page=page, scale=_MODEL_SCALE, longest=_MODEL_LONGEST)
    return asyncio.run(PageRenderer().render(request))[1]


def make_page_request(
    path: Path, page: int, text: str, spans: Sequence[PageSpan], marks: Sequence[Mark], scale: float
) -> PageRequest:
    """Return the request for a page on which the marks, spans of ``text``, are highlighted."""
    parts = [span for span in spans if span.number == page]
    if not parts:
        return PageRequest(path=str(path), page=page, marks=((0, 0),) * len(marks), scale=scale)
    first, last = min(span.start for span in parts), max(span.end for span in parts)
    clipped = tuple((min(max(start, first), last) - first, min(max(end, first), last) - first) for start, end in marks)
    return PageRequest(path=str(path), page=page, text=text[first:last], marks=clipped, scale=scale)

"""Pages of documents as pictures, with the words of a quote marked: each drawn in a process of its own.

Owns the limits on these processes: time, memory, and how many there are at once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from ingest.errors import PageNotShown
from ingest.pages.request import Drawn, PageRequest
from vectorstore.models import PageSpan

_AT_ONCE = 2
_TIME_S = 20.0
_MEMORY_MB = 2048
_WORKER = """
import sys
sys.path[:] = sys.argv[3:]
from ingest.pages.draw import main
main(memory_mb=int(sys.argv[1]), cpu_s=int(sys.argv[2]))
"""


class PageRenderer:
    """Draws pages. Belongs to one event loop."""

    def __init__(self, *, time_s: float = _TIME_S, memory_mb: int = _MEMORY_MB) -> None:
        self._time_s, self._memory_mb = time_s, memory_mb
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def draw(self, wish: PageRequest) -> tuple[Drawn, bytes]:
        """The page, and its picture as PNG if one is wished for. Raises PageNotShown."""
        async with self._places:
            out = await self._ask(wish)
        told, _, picture = out.partition(b"\n")
        drawn = Drawn.model_validate_json(told)
        if drawn.fault:
            raise PageNotShown(f"The page cannot be shown: {drawn.fault}.")
        return drawn, picture

    async def _ask(self, wish: PageRequest) -> bytes:
        limits = [str(self._memory_mb), str(round(self._time_s) + 1)]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _WORKER, *limits, *sys.path,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            out, _ = await asyncio.wait_for(process.communicate(wish.model_dump_json().encode()), self._time_s)
        except TimeoutError as error:
            raise PageNotShown(
                f"Page {wish.page} of {Path(wish.path).name!r} takes more than {self._time_s:g} s to draw."
            ) from error
        finally:
            if process.returncode is None:  # also when whoever asked has gone away
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise PageNotShown(
                f"Page {wish.page} of {Path(wish.path).name!r} ended the process that was to draw it "
                f"(status {process.returncode}): it is damaged, or takes too much memory."
            )
        return out


def wish_for(
    path: Path, page: int, text: str, spans: Sequence[PageSpan], start: int, end: int, scale: float
) -> PageRequest:
    """The wish for a page, and for that part of text[start:end] that stands on it."""
    parts = [span for span in spans if span.number == page]
    if not parts:
        return PageRequest(path=str(path), page=page, scale=scale)
    first, last = min(span.start for span in parts), max(span.end for span in parts)
    begin = min(max(start, first), last)
    return PageRequest(
        path=str(path), page=page, text=text[first:last], start=begin - first,
        end=max(min(end, last), begin) - first, scale=scale,
    )  # fmt: skip

"""Searching from the command line, with an account of where the time goes."""

from __future__ import annotations

import time

from api.bootstrap import Candor
from vectorstore.models import Hit


def run_search(candor: Candor, query: str, collection: str | None, limit: int) -> tuple[list[Hit], dict[str, float]]:
    """The hits, best first, and seconds per stage. Raises UsageError, StoreError."""
    clock = _Clock()
    with candor.open_collection(candor.collection_name(collection)) as opened:
        from vectorstore.retrieval import Retriever

        clock.lap("open collection")
        embedder = candor.embedder
        clock.lap("load embedding model")
        hits = Retriever(opened, embedder).search([query], limit)
        clock.lap("embed query and search")
    return hits, clock.laps


class _Clock:
    """Seconds between one lap and the next."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now

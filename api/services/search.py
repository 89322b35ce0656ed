"""Searching a collection for passages, without a language model."""

from __future__ import annotations

import time

from api.services.collection_pool import CollectionPool
from api.services.collections import Collections
from vectorstore.models import Hit


def search(pool: CollectionPool, collection: str, query: str, limit: int) -> list[Hit]:
    """Search a collection of the pool; best hits first. Raises StoreError, ServiceEnding."""
    return pool.get(collection).library.retriever.search([query], limit)


def timed_search(
    collections: Collections, collection: str | None, query: str, limit: int
) -> tuple[list[Hit], dict[str, float]]:
    """Open a collection, search it and close it. Returns the hits, best first, and the seconds of each stage.

    Raises UsageError, StoreError.
    """
    clock = _Clock()
    with collections.open(collections.resolve(collection)) as opened:
        from vectorstore.retrieval import Retriever

        clock.lap("open collection")
        embedder = collections.load_embedder()
        clock.lap("load embedding model")
        hits = Retriever(opened, embedder).search([query], limit)
        clock.lap("embed query and search")
    return hits, clock.laps


class _Clock:
    """Measures the seconds between laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now

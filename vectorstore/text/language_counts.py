"""The number of chunks per language of a collection, cached because each search needs it."""

import math
import time
from collections.abc import Callable


class LanguageCounts:
    """Counts that are kept until ``forget``, at most for ``max_age_s``. Threads may share it."""

    def __init__(self, max_age_s: float = math.inf) -> None:
        self._max_age_s = max_age_s
        self._writes = 0
        self._known: tuple[int, float, dict[str, int]] = (-1, 0, {})  # writes and time when counted, and the counts

    def get(self, count: Callable[[], dict[str, int]]) -> dict[str, int]:
        """Return the counts. Calls ``count`` if they are not known or too old."""
        writes, counted_at, counts = self._known
        if writes != self._writes or time.monotonic() - counted_at > self._max_age_s:
            writes, counted_at = self._writes, time.monotonic()  # before counting: a write may come meanwhile
            counts = count()
            self._known = (writes, counted_at, counts)
        return dict(counts)

    def forget(self) -> None:
        """Count again at the next call, because the collection was changed."""
        self._writes += 1

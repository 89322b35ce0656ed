"""An embedder that computes no query's vector twice, nor more of them at once than there are cores."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import lru_cache

from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Vectors

QUERIES = 1024  # 1.5 MB with vectors of 384 dimensions


class CachedEmbedder:
    """Wraps an embedder, with the same contract.

    A run compares its question with those of kept plans, searches for it, and keeps its own plan for it; people repeat
    their searches. A vector is shared by all who ask for it, and cannot be written to.
    """

    def __init__(self, inner: Embedder, queries: int = QUERIES) -> None:
        self._inner = inner
        # More at once would wait for each other in the middle of their work, each time they let go of Python's lock,
        # and keep the event loop from getting it.
        self._turns = threading.Semaphore(os.cpu_count() or 1)
        self._embedded = lru_cache(queries)(self._embed)
        self.model, self.dimension = inner.model, inner.dimension
        self.max_tokens, self.languages = inner.max_tokens, inner.languages

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in their order."""
        return self._inner.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimension,)."""
        return self._embedded(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without those that the model adds itself."""
        return self._inner.count_tokens(texts)

    def _embed(self, text: str) -> Vectors:
        with self._turns:
            vector = self._inner.embed_query(text)
        vector.setflags(write=False)
        return vector

"""An embedder with a cache of query vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Vectors

CACHE_SIZE = 1024  # 1.5 MB with vectors of 384 dimensions


class CachedEmbedder:
    """Wraps an embedder and caches its query vectors, and the attention to each character.

    A run embeds its question several times: to search, to find a similar saved plan, and to save its own. Cached
    vectors are shared and read-only.
    """

    def __init__(self, inner: Embedder, cache_size: int = CACHE_SIZE) -> None:
        self._inner = inner
        self._cached = lru_cache(cache_size)(self._embed)
        self.attention = lru_cache(cache_size)(inner.attention)
        self.model, self.max_tokens, self.languages = inner.model, inner.max_tokens, inner.languages

    @property
    def dimension(self) -> int:
        """The dimension of the vectors. An endpoint is asked for it on first use."""
        return self._inner.dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._inner.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        return self._cached(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.count_tokens(texts)

    def _embed(self, text: str) -> Vectors:
        vector = self._inner.embed_query(text)
        vector.setflags(write=False)
        return vector

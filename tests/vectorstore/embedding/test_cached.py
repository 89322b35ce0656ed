"""The cache of query vectors."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from vectorstore.embedding.embedder import CachedEmbedder, Embedder, QueryEmbedder
from vectorstore.store import Vectors

ATTRIBUTES = (*QueryEmbedder.__annotations__, *Embedder.__annotations__, "dimension")


class CountingEmbedder:
    """Wraps the real model and counts its queries."""

    def __init__(self, embedder: Embedder) -> None:
        self.__dict__.update({name: getattr(embedder, name) for name in ATTRIBUTES})
        self._embedder, self.queries = embedder, Counter[str]()
        self.embed_passages, self.count_tokens = embedder.embed_passages, embedder.count_tokens

    def embed_query(self, text: str) -> tuple[Vectors, Vectors | None]:
        self.queries[text] += 1
        return self._embedder.embed_query(text)


@pytest.fixture
def counting(embedder: Embedder) -> CountingEmbedder:
    return CountingEmbedder(embedder)


def test_a_repeated_query_is_embedded_once(counting: CountingEmbedder, embedder: Embedder) -> None:
    cached = CachedEmbedder(counting)
    first, second = cached.embed_query("heat pump")[0], cached.embed_query("heat pump")[0]
    np.testing.assert_array_equal(first, embedder.embed_query("heat pump")[0])
    np.testing.assert_array_equal(first, second)
    assert counting.queries == {"heat pump": 1}


def test_the_least_recently_used_query_is_evicted(counting: CountingEmbedder) -> None:
    cached = CachedEmbedder(counting, cache_size=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        cached.embed_query(query)
    assert counting.queries == {"a": 1, "b": 2, "c": 1}


def test_cached_vectors_are_read_only(counting: CountingEmbedder) -> None:
    with pytest.raises(ValueError, match="read-only"):
        CachedEmbedder(counting).embed_query("heat pump")[0][0] = 0


def test_everything_else_is_delegated(counting: CountingEmbedder, embedder: Embedder) -> None:
    cached = CachedEmbedder(counting)
    properties = (cached.model, cached.dimension, cached.max_tokens, cached.languages)
    assert properties == (embedder.model, embedder.dimension, embedder.max_tokens, embedder.languages)
    assert cached.count_tokens(["heat pump"]) == [2]
    np.testing.assert_array_equal(cached.embed_passages(["a"]), embedder.embed_passages(["a"]))

"""A query is embedded once, for all who ask."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vectorstore.embedding.cached import CachedEmbedder
from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Vectors


class Counting:
    """Counts what the real model is asked."""

    def __init__(self, embedder: Embedder) -> None:
        self.__dict__.update({name: getattr(embedder, name) for name in Embedder.__annotations__})
        self._embedder, self.asked = embedder, Counter[str]()
        self.embed_passages, self.count_tokens = embedder.embed_passages, embedder.count_tokens

    def embed_query(self, text: str) -> Vectors:
        self.asked[text] += 1
        return self._embedder.embed_query(text)


@pytest.fixture
def counting(embedder: Embedder) -> Counting:
    return Counting(embedder)


def test_the_same_query_is_embedded_once_and_its_vector_is_the_models(counting: Counting, embedder: Embedder) -> None:
    remembering = CachedEmbedder(counting)
    first, second = remembering.embed_query("heat pump"), remembering.embed_query("heat pump")
    np.testing.assert_array_equal(first, embedder.embed_query("heat pump"))
    np.testing.assert_array_equal(first, second)
    assert counting.asked == {"heat pump": 1}


def test_what_was_not_asked_for_longest_is_forgotten_first(counting: Counting) -> None:
    remembering = CachedEmbedder(counting, queries=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        remembering.embed_query(query)
    assert counting.asked == {"a": 1, "b": 2, "c": 1}


def test_no_more_queries_are_embedded_at_once_than_there_are_cores(counting: Counting) -> None:
    under_way, most, guard = 0, 0, threading.Lock()
    embed = counting.embed_query

    def watched(text: str) -> Vectors:
        nonlocal under_way, most
        with guard:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.02)
        with guard:
            under_way -= 1
        return embed(text)

    counting.embed_query = watched  # type: ignore[method-assign]
    remembering, asked = CachedEmbedder(counting), 4 * (os.cpu_count() or 1)
    with ThreadPoolExecutor(asked) as threads:
        list(threads.map(remembering.embed_query, map(str, range(asked))))
    assert most == (os.cpu_count() or 1)


def test_nobody_changes_the_vector_of_the_others(counting: Counting) -> None:
    with pytest.raises(ValueError, match="read-only"):
        CachedEmbedder(counting).embed_query("heat pump")[0] = 0


def test_all_else_is_the_models(counting: Counting, embedder: Embedder) -> None:
    remembering = CachedEmbedder(counting)
    said = (remembering.model, remembering.dimension, remembering.max_tokens, remembering.languages)
    assert said == (embedder.model, embedder.dimension, embedder.max_tokens, embedder.languages)
    assert remembering.count_tokens(["heat pump"]) == [2]
    np.testing.assert_array_equal(remembering.embed_passages(["a"]), embedder.embed_passages(["a"]))

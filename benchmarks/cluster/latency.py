"""Measure searches on a Qdrant server whose count of languages is cached, and without the cache.

    PYTHONPATH=tests python -m benchmarks.cluster.latency --chunks 100000

Random texts and vectors as in ``benchmarks.search``; the time to embed the query is not included. Also measures reading
the passages around one, as agents do. ``python3 -m benchmarks.fetch_qdrant`` fetches the server.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.search import (
    DIMENSION,
    clustered_vectors,
    fill,
    measure,
    random_chunk,
    random_queries,
    random_texts,
    summary,
    time_call,
)
from support.qdrant import running_qdrant
from vectorstore.models import ChunkFilter, CollectionSpec, SearchMode
from vectorstore.qdrant_server.store import ServerStore, connect
from vectorstore.store import Collection, Query, Vectors

SPEC = CollectionSpec(name="benchmark", embedding_model="none", dimension=DIMENSION, chunking="none")
WINDOW = ChunkFilter(documents=("document 7",), positions=(3, 7))
REPEATS = 50


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--chunks", type=int, default=20_000)
    options.add_argument("--queries", type=int, default=100)
    chosen = options.parse_args()
    rng = np.random.default_rng(0)
    texts, vectors = random_texts(rng, chosen.chunks), clustered_vectors(rng, chosen.chunks)
    queries = random_queries(rng, texts, vectors, chosen.queries)
    with running_qdrant() as node, ServerStore(connect(node.url, None, timeout_s=300)).create(SPEC) as collection:
        fill("Qdrant server", collection, [random_chunk(*each) for each in enumerate(texts)], vectors)
        report(collection, queries)


def report(collection: Collection, queries: Sequence[tuple[str, Vectors]]) -> None:
    """Print the median and the 95th percentile of each call."""
    everything = ChunkFilter()
    nothing = ChunkFilter(documents=("none",))

    def uncached(mode: SearchMode) -> list[float]:
        times = []
        for query in queries:
            collection.delete(nothing)  # after a write, the languages are counted again
            times += [time_call(lambda given=query: _search(collection, mode, given))]  # type: ignore[misc]
        return times

    calls = {
        "hybrid search, languages counted each time": uncached(SearchMode.HYBRID),
        "hybrid search": measure(collection, SearchMode.HYBRID, everything, queries),
        "BM25 search, languages counted each time": uncached(SearchMode.WORDS),
        "BM25 search": measure(collection, SearchMode.WORDS, everything, queries),
        "dense search": measure(collection, SearchMode.MEANING, everything, queries),
        "read 5 passages of a document": [time_call(lambda: list(collection.scan(WINDOW))) for _ in range(REPEATS)],
        "count documents and passages": [time_call(collection.count) for _ in range(5)],
    }
    table = Table("call", "median", "p95")
    for name, times in calls.items():
        table.add_row(name, *(f"{milliseconds:.1f} ms" for milliseconds in summary(times)))
    Console(width=100).print(table)


def _search(collection: Collection, mode: SearchMode, query: tuple[str, Vectors]) -> None:
    text, vector = query
    collection.search(mode, Query(text, vector), limit=10)


if __name__ == "__main__":
    main()

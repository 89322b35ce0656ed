"""Measure what it costs to use a collection through the process that serves it, as commands beside ``candor serve`` do.

    python -m benchmarks.remote_store                  # 20,000 chunks of 384 dimensions

The collection is used in this process, then through another one, with the same calls of the same contract. The fastest
call of each kind says most on a busy machine.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.search import (
    DIMENSION,
    clustered_vectors,
    measure,
    random_chunk,
    random_queries,
    random_texts,
    time_call,
)
from vectorstore.embedded import EmbeddedStore
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, SearchMode
from vectorstore.remote.process import SearchProcess
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Collection, Vectors

SPEC = CollectionSpec(name="benchmark", embedding_model="none", dimension=DIMENSION, chunking="none")
WRITTEN = 512
REPEATS = 10

Times = dict[str, list[float]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--chunks", type=int, default=20_000)
    options.add_argument("--queries", type=int, default=200)
    chosen = options.parse_args()
    rng = np.random.default_rng(0)
    texts, vectors = random_texts(rng, chosen.chunks), clustered_vectors(rng, chosen.chunks)
    queries = random_queries(rng, texts, vectors, chosen.queries)
    chunks = [random_chunk(number, text) for number, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        store = EmbeddedStore(Path(folder))
        with store.create(SPEC) as collection:
            collection.upsert(chunks, vectors)
            collection.optimize()
            here = measure_all(collection, chunks, vectors, queries)
        with SearchProcess(Path(folder), EmbeddingSettings()):
            opening = [time_call(lambda: store.open(SPEC.name).close()) for _ in range(REPEATS)]
            with store.open(SPEC.name) as collection:
                served = measure_all(collection, chunks, vectors, queries)
    report(here, served)
    print(f"opening through the service: {min(opening) * 1e3:.1f} ms")


def measure_all(
    collection: Collection, chunks: Sequence[Chunk], vectors: Vectors, queries: Sequence[tuple[str, Vectors]]
) -> Times:
    """Return the seconds of each call, by kind of call."""
    everything = ChunkFilter()
    times = {f"{mode.value} search": measure(collection, mode, everything, queries) for mode in SearchMode}
    times["count"] = [time_call(collection.count) for _ in range(REPEATS)]
    times["scan"] = [time_call(lambda: list(collection.scan())) for _ in range(3)]
    some, rows = chunks[:WRITTEN], vectors[:WRITTEN]
    times[f"write {WRITTEN} chunks"] = [time_call(lambda: collection.upsert(some, rows)) for _ in range(REPEATS)]
    return times


def report(here: Times, served: Times) -> None:
    table = Table("call", "in the process, fastest", "median", "through the service, fastest", "median")
    for name in here:
        figures = [figure for times in (here[name], served[name]) for figure in (min(times), float(np.median(times)))]
        table.add_row(name, *(f"{figure * 1e3:,.2f} ms" for figure in figures))
    Console(width=130).print(table)


if __name__ == "__main__":
    main()

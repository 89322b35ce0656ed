"""Restart the nodes of a cluster in turn during an ingest and searches. Nothing may be lost, and nothing may fail.

    PYTHONPATH=tests python -m benchmarks.cluster.restarts --chunks 20000 --searches 200

Three nodes, three shards, two copies of each. ``--kill`` kills the nodes instead of stopping them. The store has the
URLs of all nodes. ``python3 -m benchmarks.fetch_qdrant`` fetches the server.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count

import numpy as np

from benchmarks.search import DIMENSION, clustered_vectors, random_chunk, random_queries, random_texts, time_call
from support.qdrant import QdrantNode, running_cluster
from vectorstore.models import Chunk, CollectionSpec, SearchMode
from vectorstore.qdrant_server.store import ServerStore, connect
from vectorstore.settings import VectorStoreSettings
from vectorstore.store import Collection, Query, Vectors

SPEC = CollectionSpec(name="benchmark", embedding_model="none", dimension=DIMENSION, chunking="none")
SETTINGS = VectorStoreSettings(shards=3, replicas=2)
BATCH = 128
AWAY_S = 6.0
"""How long a node is down."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--chunks", type=int, default=20_000)
    options.add_argument("--searches", type=int, default=200, help="at least this many, until the restarts are done")
    options.add_argument("--kill", action="store_true", help="kill the nodes instead of stopping them")
    chosen = options.parse_args()
    rng = np.random.default_rng(0)
    texts, vectors = random_texts(rng, chosen.chunks), clustered_vectors(rng, chosen.chunks)
    queries = random_queries(rng, texts, vectors, 50)
    chunks = [random_chunk(number, text) for number, text in enumerate(texts)]
    with running_cluster(3) as nodes, ThreadPoolExecutor(3) as pool:
        urls = ",".join(node.url for node in nodes)
        with ServerStore(connect(urls, None), settings=SETTINGS).create(SPEC) as collection:
            write(collection, chunks[:BATCH], vectors[:BATCH])
            restarts = pool.submit(restart, nodes, kill=chosen.kill)
            writing = pool.submit(write, collection, chunks, vectors)
            searches = search(collection, queries, chosen.searches, until=[restarts, writing])
            restarts.result()
            print(f"ingest: {len(chunks):,} passages in {writing.result():.0f} s")
            print(f"searches: {len(searches)}, median {np.median(searches):.3f} s, longest {max(searches):.1f} s")
            check(collection, chunks, nodes)


def restart(nodes: Sequence[QdrantNode], *, kill: bool) -> None:
    """Restart the nodes in turn, as an operator does: the next one when the one before is ready."""
    for node in nodes:
        (node.kill if kill else node.stop)()
        time.sleep(AWAY_S)
        node.start()


def write(collection: Collection, chunks: Sequence[Chunk], vectors: Vectors) -> float:
    """Write all chunks and return the seconds."""
    began = time.perf_counter()
    for start in range(0, len(chunks), BATCH):
        collection.upsert(chunks[start : start + BATCH], vectors[start : start + BATCH])
    return time.perf_counter() - began


def search(
    collection: Collection, queries: Sequence[tuple[str, Vectors]], at_least: int, until: Sequence[Future[object]]
) -> list[float]:
    """Return the seconds of each search. Raises if one fails or finds too little."""
    times: list[float] = []
    for number in count():
        if number >= at_least and all(each.done() for each in until):
            return times
        text, vector = queries[number % len(queries)]
        hits = 0

        def one(text: str = text, vector: Vectors = vector) -> None:
            nonlocal hits
            hits = len(collection.search(SearchMode.HYBRID, Query(text, vector), limit=10))

        times.append(time_call(one))
        assert hits == 10, f"search {number} found {hits}"
    raise AssertionError


def check(collection: Collection, chunks: Sequence[Chunk], nodes: Sequence[QdrantNode]) -> None:
    """Read every passage through every node, and count those that are missing."""
    assert collection.count().chunks == len(chunks)
    ids = [chunk.id for chunk in chunks]
    for node in nodes:
        with ServerStore(connect(node.url, None)).open(SPEC.name) as through:
            missing = sum(len(through.missing(ids[start : start + 1000])) for start in range(0, len(ids), 1000))
            print(f"missing through {node.url}: {missing}")


if __name__ == "__main__":
    main()

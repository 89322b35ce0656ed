"""Measure the latency of embedded search, without embedding the query, against qdrant-client's local mode.

    python -m benchmarks.search                        # 20,000 chunks of 384 dimensions
    python -m benchmarks.search --data corpus.jsonl    # texts of a BEIR corpus instead of random ones

Both stores hold the same chunks and answer the same queries through the same contract, including the ``Chunk`` values.
Local mode takes about a second per query and answers only the first ones. Random texts follow Zipf's law; vectors come
from a mixture of directions.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
from qdrant_client import QdrantClient
from rich.console import Console
from rich.table import Table

from vectorstore.edge.store import EdgeStore
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, SearchMode
from vectorstore.qdrant_server.connection import ServerConnection
from vectorstore.qdrant_server.store import ServerStore
from vectorstore.store import Collection, Query, Vectors, VectorStore

DIMENSION = 384
CHUNKS_PER_DOCUMENT = 20
LIMIT = 10
WARM_UP = 5
LOCAL_QUERIES = 30


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--chunks", type=int, default=20_000)
    options.add_argument("--queries", type=int, default=200)
    options.add_argument("--data", type=Path, help="JSON lines with title and text, one chunk each")
    chosen = options.parse_args()
    rng = np.random.default_rng(0)
    texts = load_texts(chosen.data, chosen.chunks) if chosen.data else random_texts(rng, chosen.chunks)
    vectors = clustered_vectors(rng, len(texts))
    queries = random_queries(rng, texts, vectors, chosen.queries)
    warnings.filterwarnings("ignore", message=".*local", category=UserWarning)
    with tempfile.TemporaryDirectory() as folder:
        local = ServerStore(ServerConnection({"local mode": QdrantClient(":memory:")}))
        report(compare(EdgeStore(Path(folder)), local, texts, vectors, queries))


def compare(
    edge: VectorStore,
    local: VectorStore,
    texts: Sequence[str],
    vectors: Vectors,
    queries: Sequence[tuple[str, Vectors]],
) -> list[tuple[str, list[float], list[float]]]:
    """Return per case its name, the seconds of each query in Qdrant Edge, and those in local mode."""
    spec = CollectionSpec(name="benchmark", embedding_model="none", dimension=DIMENSION, chunking="none")
    chunks = [random_chunk(number, text) for number, text in enumerate(texts)]
    cases = [
        ("hybrid", SearchMode.HYBRID, ChunkFilter()),
        ("hybrid, one folder of ten", SearchMode.HYBRID, ChunkFilter(folder="/documents/3")),
        ("meaning", SearchMode.MEANING, ChunkFilter()),
        ("words", SearchMode.WORDS, ChunkFilter()),
    ]
    with edge.create(spec) as ours, local.create(spec) as theirs:
        fill("Qdrant Edge", ours, chunks, vectors)
        fill("local mode", theirs, chunks, vectors)
        _, mode, where = cases[0]
        unoptimized = measure(ours, mode, where, queries)
        ours.optimize()
        rows = [
            (name, measure(ours, mode, where, queries), measure(theirs, mode, where, queries[:LOCAL_QUERIES]))
            for name, mode, where in cases
        ]
    return [("hybrid, while the index is built", unoptimized, rows[0][2]), *rows]


def fill(name: str, collection: Collection, chunks: Sequence[Chunk], vectors: Vectors) -> None:
    begin = time.perf_counter()
    collection.upsert(chunks, vectors)
    print(f"{name}: {len(chunks):,} chunks written in {time.perf_counter() - begin:.1f} s")


def measure(
    collection: Collection, mode: SearchMode, where: ChunkFilter, queries: Sequence[tuple[str, Vectors]]
) -> list[float]:
    """Return the seconds of each query after the warm-up."""

    def one(text: str, vector: Vectors) -> Callable[[], object]:
        return lambda: collection.search(mode, Query(text, vector), limit=LIMIT, where=where)

    return [time_call(one(*query)) for query in queries][WARM_UP:]


def time_call(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def report(rows: Sequence[tuple[str, list[float], list[float]]]) -> None:
    table = Table("search", "Qdrant Edge median", "p95", "local mode median", "p95", "ratio of medians")
    for name, ours, theirs in rows:
        cells = [f"{milliseconds:.2f} ms" for times in (ours, theirs) for milliseconds in summary(times)]
        table.add_row(name, *cells, f"{np.median(theirs) / np.median(ours):.1f}")
    Console(width=120).print(table)


def summary(times: Sequence[float]) -> tuple[float, float]:
    return float(np.median(times)) * 1e3, float(np.percentile(times, 95)) * 1e3


def load_texts(file: Path, count: int) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()[:count]
    return ["\n".join((entry["title"], entry["text"])).strip() for entry in map(json.loads, lines)]


def random_texts(rng: np.random.Generator, count: int) -> list[str]:
    vocabulary = np.array(["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size=7)) for _ in range(30_000)])
    frequency = 1 / np.arange(1, len(vocabulary) + 1)
    return [
        " ".join(rng.choice(vocabulary, size=rng.integers(60, 200), p=frequency / frequency.sum()))
        for _ in range(count)
    ]


def clustered_vectors(rng: np.random.Generator, count: int) -> Vectors:
    centres = rng.normal(size=(100, DIMENSION))
    vectors = centres[rng.integers(len(centres), size=count)] + rng.normal(size=(count, DIMENSION))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def random_queries(
    rng: np.random.Generator, texts: Sequence[str], vectors: Vectors, count: int
) -> list[tuple[str, Vectors]]:
    """Return queries of eight words of a chunk, each with a vector near the chunk's."""
    targets = rng.integers(len(texts), size=count + WARM_UP)
    noise = rng.normal(scale=0.02, size=(len(targets), DIMENSION)).astype(np.float32)
    words = [" ".join(rng.choice(texts[target].split(), size=8)) for target in targets]
    return list(zip(words, vectors[targets] + noise, strict=True))


def random_chunk(number: int, text: str) -> Chunk:
    document = number // CHUNKS_PER_DOCUMENT
    path = f"/documents/{document % 10}/{document}.md"
    return Chunk(
        id=str(UUID(int=number)),
        document_id=f"document {document}",
        document=path,
        name=path.removeprefix("/documents/"),
        version="0" * 64,
        index=number % CHUNKS_PER_DOCUMENT,
        text=text,
        start=0,
        end=len(text),
        title=f"Document {document}",
        section=("Chapter", f"Section {number % CHUNKS_PER_DOCUMENT}"),
        metadata={"year": 2000 + document % 25},
    )


if __name__ == "__main__":
    main()

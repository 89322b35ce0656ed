"""Compare the ranking of a collection on one shard with that on several, where each shard has its own word statistics.

    PYTHONPATH=tests python -m benchmarks.cluster.ranking --data DATA/retrieval/scifact --shards 3 12

The documents are ingested once, and their passages are copied to collections with the other numbers of shards. A shard
of the same node ranks as one of another node. ``python3 -m benchmarks.fetch_qdrant`` fetches the server.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import ir_measures
import numpy as np
from ir_measures import nDCG
from rich.console import Console
from rich.table import Table

from benchmarks.retrieval import ingest, qrels_of, queries_of, ranked, write_documents
from ingest.chunking.chunker import Chunker
from ingest.settings import IngestSettings
from support.qdrant import running_qdrant
from vectorstore.embedding.embedder import Embedder, make_embedder
from vectorstore.models import CollectionSpec, SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.server import ServerStore, connect
from vectorstore.settings import EmbeddingSettings, VectorStoreSettings
from vectorstore.store import Collection

FIRST = 10  # passages that are compared
BATCH = 256


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="folder of a set in BEIR's format")
    options.add_argument("--shards", type=int, nargs="+", default=[3])
    chosen = options.parse_args()
    embedder = make_embedder(EmbeddingSettings())
    with running_qdrant() as node, tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        ids = write_documents(chosen.data / "corpus.jsonl", home / "documents")
        spec = CollectionSpec(
            name="on-1", embedding_model=embedder.model, dimension=embedder.dimension, chunking="benchmark"
        )
        one = ServerStore(connect(node.url, None)).create(spec)
        _ingest(home, one, embedder)
        report(chosen.data, embedder, ids, one, {shards: _copy(one, node.url, shards) for shards in chosen.shards})


def report(data: Path, embedder: Embedder, ids: dict[str, str], one: Collection, others: dict[int, Collection]) -> None:
    """Print the quality of each ranking, and how much of it is the same as on one shard."""
    queries, qrels = queries_of(data / "queries.jsonl"), qrels_of(data / "qrels" / "test.tsv")
    table = Table("search", "shards", "nDCG@10", "same first", f"same {FIRST} passages", f"shared of {FIRST}")
    for mode in SearchMode:
        expected = _first_ids(one, embedder, list(queries.values()), mode)
        for shards, collection in {1: one, **others}.items():
            run = list(ranked(Retriever(collection, embedder), queries, mode, ids))
            found = _first_ids(collection, embedder, list(queries.values()), mode)
            pairs = list(zip(expected, found, strict=True))
            table.add_row(
                mode.value,
                str(shards),
                f"{ir_measures.calc_aggregate([nDCG @ 10], qrels, run)[nDCG @ 10]:.4f}",
                f"{_share([a[:1] == b[:1] for a, b in pairs]):.1%}",
                f"{_share([a == b for a, b in pairs]):.1%}",
                f"{_share([len(set(a) & set(b)) / max(len(a), 1) for a, b in pairs]):.1%}",
            )
    Console(width=120).print(table)


def _first_ids(collection: Collection, embedder: Embedder, queries: Sequence[str], mode: SearchMode) -> list[list[str]]:
    retriever = Retriever(collection, embedder)
    return [[hit.chunk.id for hit in retriever.search([query], FIRST, mode=mode)] for query in queries]


def _share(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _ingest(home: Path, collection: Collection, embedder: Embedder) -> None:
    chunker = Chunker(embedder.count_tokens, embedder.max_tokens, IngestSettings().chunk_overlap)
    done = ingest([home / "documents"], home, collection, chunker, embedder)
    print(f"{done.indexed:,} documents, {done.chunks:,} passages ingested in {done.seconds:.0f} s", flush=True)


def _copy(source: Collection, url: str, shards: int) -> Collection:
    spec = source.spec.model_copy(update={"name": f"on-{shards}"})
    copy = ServerStore(connect(url, None), settings=VectorStoreSettings(shards=shards)).create(spec)
    chunks = iter(source.scan())
    while batch := list(islice(chunks, BATCH)):
        vectors = source.vectors([chunk.id for chunk in batch])
        copy.upsert(batch, np.stack([vectors[chunk.id] for chunk in batch]))
    return copy


if __name__ == "__main__":
    main()

"""Compare the ranking of a collection on one shard with that on several, where each shard has its own word statistics.

    PYTHONPATH=tests python -m benchmarks.cluster.ranking --data DATA/retrieval/scifact --shards 3 12

Each passage of the set is one chunk. Modes other than ``sparse`` embed all passages, which takes minutes. A shard of
the same node ranks as one of another node. ``python3 -m benchmarks.fetch_qdrant`` fetches the server.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import ir_measures
import numpy as np
from ir_measures import nDCG
from rich.console import Console
from rich.table import Table

from benchmarks.retrieval import qrels_of, queries_of, ranked
from support.qdrant import running_qdrant
from vectorstore.embedding.embedder import Embedder, make_embedder
from vectorstore.models import Chunk, CollectionSpec, SearchMode
from vectorstore.qdrant_server.store import ServerStore, connect
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings, VectorStoreSettings
from vectorstore.store import Collection, Vectors

FIRST = 10  # passages that are compared


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="folder of a set in BEIR's format")
    options.add_argument("--shards", type=int, nargs="+", default=[3])
    options.add_argument("--modes", type=SearchMode, nargs="+", default=[SearchMode.WORDS], choices=list(SearchMode))
    chosen = options.parse_args()
    embedder = make_embedder(EmbeddingSettings())
    chunks = read_chunks(chosen.data / "corpus.jsonl")
    if chosen.modes == [SearchMode.WORDS]:
        vectors = np.ones((len(chunks), embedder.dimension), dtype=np.float32)
    else:
        vectors = embedder.embed_passages([chunk.embedded_text for chunk in chunks])
    with running_qdrant() as node:
        collections = {
            shards: fill(node.url, shards, embedder, chunks, vectors) for shards in dict.fromkeys([1, *chosen.shards])
        }
        report(chosen.data, embedder, chosen.modes, collections)


def read_chunks(corpus: Path) -> list[Chunk]:
    """Return one chunk per passage. Its name is the id of the passage."""
    with corpus.open(encoding="utf-8") as lines:
        passages = [json.loads(line) for line in lines]
    return [
        Chunk(
            id=str(uuid5(NAMESPACE_URL, each["_id"])), document_id=each["_id"], document=each["_id"], name=each["_id"],
            version="0" * 64, index=0, text=each["text"], start=0, end=len(each["text"]), title=each.get("title", ""),
        )
        for each in passages
    ]  # fmt: skip


def fill(url: str, shards: int, embedder: Embedder, chunks: Sequence[Chunk], vectors: Vectors) -> Collection:
    """Create a collection with this number of shards."""
    spec = CollectionSpec(
        name=f"on-{shards}", embedding_model=embedder.model, dimension=embedder.dimension, chunking="benchmark"
    )
    collection = ServerStore(connect(url, None), settings=VectorStoreSettings(shards=shards)).create(spec)
    collection.upsert(chunks, vectors)
    return collection


def report(data: Path, embedder: Embedder, modes: Sequence[SearchMode], collections: dict[int, Collection]) -> None:
    """Print the quality of each ranking, and how much of it is the same as on one shard."""
    queries, qrels = queries_of(data / "queries.jsonl"), qrels_of(data / "qrels" / "test.tsv")
    table = Table("search", "shards", "nDCG@10", "same first", f"same {FIRST} passages", f"shared of {FIRST}")
    ids = {chunk.name: chunk.name for chunk in collections[1].scan()}
    queries = {each: queries[each] for each in sorted({qrel.query_id for qrel in qrels})}
    for mode in modes:
        expected = _first_ids(collections[1], embedder, list(queries.values()), mode)
        for shards, collection in collections.items():
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


if __name__ == "__main__":
    main()

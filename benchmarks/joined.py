"""Measure what is lost when the passages of a set are in two collections, a large and a small one, searched as one.

    python -m benchmarks.joined --data DATA/retrieval/hotpotqa_dev100 DATA/retrieval/squad2_cs224n_dev

Every tenth passage is in the small collection. The first line of a set searches all passages in one collection.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import ir_measures

from benchmarks.retrieval import (
    MEASURES,
    home_folder,
    ingested,
    qrels_of,
    queries_of,
    ranked,
    write_documents,
)  # fmt: skip
from vectorstore.embedding.embedder import Embedder, make_embedder
from vectorstore.joined import JoinedCollections
from vectorstore.models import SearchMode
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings

SMALL = 10  # one of so many passages


def main() -> None:
    """Measure each set."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, nargs="+", required=True, help="folders of sets")
    options.add_argument("--home", type=Path, help="keep the ingested collections here; default: a temporary folder")
    chosen = options.parse_args()
    embedder = make_embedder(EmbeddingSettings())
    with home_folder(chosen.home) as home:
        for data in chosen.data:
            measure(data, home / data.name, embedder)


def measure(data: Path, home: Path, embedder: Embedder) -> None:
    """Ingest one set as one collection and as two, and print a line for each."""
    ids = write_documents(data / "corpus.jsonl", home / "all")
    few = [name for number, name in enumerate(sorted(ids)) if number % SMALL == 0]
    for name in ids:
        folder = home / ("few" if name in few else "most")
        folder.mkdir(exist_ok=True)
        shutil.copyfile(home / "all" / name, folder / name)
    with (
        ingested([home / "all"], "all", home, embedder) as (single, _),
        ingested([home / "few"], "few", home, embedder) as (small, _),
        ingested([home / "most"], "most", home, embedder) as (large, _),
    ):
        parts = {"few": small.collection, "most": large.collection}
        joined = Retriever(JoinedCollections(parts), embedder)
        named = {f"{folder}/{name}": ids[name] for name in ids for folder in parts}
        queries, qrels = queries_of(data / "queries.jsonl"), qrels_of(data / "qrels" / "test.tsv")
        for label, retriever, names in (("one", single, ids), ("two", joined, named)):
            for mode in SearchMode:
                values = ir_measures.calc_aggregate(MEASURES, qrels, list(ranked(retriever, queries, mode, names)))
                figures = "  ".join(f"{each} {values[each]:.4f}" for each in MEASURES)
                print(f"{data.name:24} {label} {mode:7} {figures}", flush=True)


if __name__ == "__main__":
    main()

"""Measure the recall of gold passages among ten, with the question alone and with several queries for each question.

    python -m benchmarks.several_queries --data DATA/retrieval/hotpotqa_dev100

The queries are those of hotpot_queries.jsonl, written from the questions alone, as an agent writes them. The last line
takes four unrelated questions as the queries of one search, as a user with several questions in one does.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from benchmarks.retrieval import home_folder, ingested, qrels_of, queries_of, write_documents
from vectorstore.embedding.embedder import make_embedder
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings

QUERIES = Path(__file__).with_name("hotpot_queries.jsonl")
TEN = 10
UNRELATED = 4


def main() -> None:
    """Ingest the set, search it in each way, print a line for each."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="the folder of hotpotqa_dev100")
    options.add_argument("--home", type=Path, help="keep the ingested collection here; default: a temporary folder")
    chosen = options.parse_args()
    questions = queries_of(chosen.data / "queries.jsonl")
    written = {each["id"]: each["queries"] for each in map(json.loads, QUERIES.open(encoding="utf-8"))}
    gold: defaultdict[str, set[str]] = defaultdict(set)
    for qrel in qrels_of(chosen.data / "qrels" / "test.tsv"):
        gold[qrel.query_id].add(qrel.doc_id)
    keys = list(gold)
    groups = [keys[start : start + UNRELATED] for start in range(0, len(keys), UNRELATED)]
    ways = {
        "the question": [([questions[key]], gold[key]) for key in gold],
        "its queries": [([questions[key], *written[key]], gold[key]) for key in gold],
        "four questions": [
            ([questions[key] for key in group], set[str]().union(*(gold[key] for key in group))) for group in groups
        ],
    }
    with home_folder(chosen.home) as home:
        ids = write_documents(chosen.data / "corpus.jsonl", home / "documents")
        embedder = make_embedder(EmbeddingSettings())
        with ingested([home / "documents"], "hotpot", home, embedder) as (retriever, _):
            for name, searches in ways.items():
                print(f"{name:16} recall@{TEN} {recall(retriever, searches, ids):.3f} of {len(searches)} searches")


def recall(retriever: Retriever, searches: Iterable[tuple[list[str], set[str]]], ids: dict[str, str]) -> float:
    """Return the share of the gold passages among the first ten, averaged over the searches."""
    shares = []
    for queries, wanted in searches:
        found = {ids[hit.chunk.name] for hit in retriever.search(queries, TEN)}
        shares.append(len(found & wanted) / len(wanted))
    return sum(shares) / len(shares)


if __name__ == "__main__":
    main()

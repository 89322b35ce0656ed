"""Measure how misspelt words lower nDCG@10. Misspells no word, one word and two words of each question.

    python -m benchmarks.misspelt --data DATA/retrieval/squad2_cs224n_dev

Prints nDCG@10 of hybrid searches, with and without the search for the nearest words of the collection.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from math import log2
from pathlib import Path
from unittest.mock import patch

from benchmarks.retrieval import home_folder, ingested, qrels_of, queries_of, write_documents
from vectorstore import ranking
from vectorstore.embedding.embedder import make_embedder
from vectorstore.retrieval import Retriever
from vectorstore.settings import EmbeddingSettings

TEN = 10
QUESTIONS = 600
_WORD = re.compile(r"[^\W\d_]{5,}")
_SEED = 1


def main() -> None:
    """Ingest the set, search it with each number of misspelt words, print a line for each."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="folder of a set in BEIR format")
    options.add_argument("--home", type=Path, help="keep the ingested collection here; default: a temporary folder")
    chosen = options.parse_args()
    gold: defaultdict[str, set[str]] = defaultdict(set)
    for qrel in qrels_of(chosen.data / "qrels" / "test.tsv"):
        gold[qrel.query_id].add(qrel.doc_id)
    asked = [(text, gold[key]) for key, text in queries_of(chosen.data / "queries.jsonl").items() if gold[key]]
    asked = random.Random(_SEED).sample(asked, min(QUESTIONS, len(asked)))
    with home_folder(chosen.home) as home:
        ids = write_documents(chosen.data / "corpus.jsonl", home / "documents")
        embedder = make_embedder(EmbeddingSettings())
        with ingested([home / "documents"], "misspelt", home, embedder) as (retriever, _):
            for number in (0, 1, 2):
                rng = random.Random(_SEED)
                misspelt = [(exchange(text, number, rng), wanted) for text, wanted in asked]
                with patch.object(ranking, "is_correctable", lambda _: False):
                    without = ndcg(retriever, misspelt, ids)
                corrected = ndcg(retriever, misspelt, ids)
                print(f"{number} misspelt words: nDCG@10 {without:.4f}, with nearest words {corrected:.4f}")


def exchange(text: str, words: int, rng: random.Random) -> str:
    """Return the text with two adjacent letters exchanged in some of its words."""
    found = _WORD.findall(text)
    for word in rng.sample(found, min(words, len(found))):
        at = rng.randrange(1, len(word) - 2)
        text = text.replace(word, word[:at] + word[at + 1] + word[at] + word[at + 2 :], 1)
    return text


def ndcg(retriever: Retriever, asked: list[tuple[str, set[str]]], ids: dict[str, str]) -> float:
    """Return nDCG@10 over documents, averaged over the questions."""
    scores = []
    for text, wanted in asked:
        found = list(dict.fromkeys(ids[hit.chunk.name] for hit in retriever.search([text], 3 * TEN)))[:TEN]
        gain = sum(1 / log2(place + 2) for place, each in enumerate(found) if each in wanted)
        scores.append(gain / sum(1 / log2(place + 2) for place in range(min(len(wanted), TEN))))
    return sum(scores) / len(scores)


if __name__ == "__main__":
    main()

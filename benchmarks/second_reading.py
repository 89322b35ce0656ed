"""Measure which gold passages a second reading gets, with the passages of the second search first, or alternating.

    python -m benchmarks.second_reading --data DATA/retrieval/hotpotqa_dev100 --home HOME

A first reading gets the passages of a search with the question. For each question with a gold passage that it lacks, a
second search has the title of the missing passage, or the queries of hotpot_queries.jsonl, as its queries. No model is
asked, and no passage counts as cited.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import load_settings
from benchmarks.retrieval import qrels_of, queries_of, write_documents
from benchmarks.several_queries import QUERIES
from multi_agent.prompts.reading import in_turn, read_around

TOKENS = (1365, 2730, 5460)  # of passages per call: those of context windows of 8,192, 16,384 and 32,768 tokens
PER_PASSAGE = 270


def main() -> None:
    """Ingest the set, read each question twice, print a line for each number of tokens."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="the folder of hotpotqa_dev100")
    options.add_argument("--home", type=Path, required=True, help="an empty folder, or that of an earlier measurement")
    chosen = options.parse_args()
    candor = Candor(load_settings(chosen.home / "candor"))
    names = write_documents(chosen.data / "corpus.jsonl", chosen.home / "documents")
    run_ingest(candor, [chosen.home / "documents"], "hotpot", progress=True)
    titles = {each["_id"]: each["title"] for each in map(json.loads, (chosen.data / "corpus.jsonl").open())}
    written = {each["id"]: tuple(each["queries"]) for each in map(json.loads, QUERIES.open())}
    gold: defaultdict[str, set[str]] = defaultdict(set)
    for qrel in qrels_of(chosen.data / "qrels" / "test.tsv"):
        gold[qrel.query_id].add(qrel.doc_id)
    questions = queries_of(chosen.data / "queries.jsonl")
    with candor.collections.open_library("hotpot") as library:
        for tokens in TOKENS:
            whole: Counter[str] = Counter()
            for key, wanted in gold.items():
                limit = tokens // PER_PASSAGE
                found = [hit.chunk for hit in library.search((questions[key],), limit, ())]
                first = read_around(found, library, tokens)
                missing = wanted - {names[chunk.name] for chunk in first}
                whole["left open"] += bool(missing)
                for kind, queries in (("title", tuple(titles[each] for each in missing)), ("queries", written[key])):
                    known = {chunk.id for chunk in first}
                    hits = library.search(queries, limit + len(known), ()) if missing else []
                    new = [hit.chunk for hit in hits if hit.chunk.id not in known][:limit]
                    for order, again in (("new first", [*new, *found]), ("in turn", [*in_turn(new, found)])):
                        read = {names[chunk.name] for chunk in read_around(again, library, tokens)}
                        whole[f"{kind}, {order}"] += bool(missing) and wanted <= read
            print(f"{tokens} tokens: " + ", ".join(f"{name} {number}" for name, number in whole.items()))


if __name__ == "__main__":
    main()

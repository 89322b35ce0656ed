"""Convert public question sets to Candor's format: a folder of documents, and a question set.

    python -m benchmarks.question_sets --data DATA --set hotpotqa --out FOLDER

writes FOLDER/documents and FOLDER/questions.jsonl for `candor ingest` and `candor eval run`. Sets: `anthropic_docs`,
`hotpotqa`, `squad2` (BEIR format, DATA/retrieval) and `sec-10-q` (DATA/sec-10-q). squad2 is a sample; half of its
questions are unanswerable.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import json
import random
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.retrieval import write_documents
from multi_agent.evaluation.question_set import AnswerType, Gold, Question, dump_questions

SAMPLE = 100
_SEED = 1
_FOLDERS = {
    "anthropic_docs": "anthropic_docs_100q", "hotpotqa": "hotpotqa_dev100", "squad2": "squad2_cs224n_dev"
}  # fmt: skip


def main() -> None:
    """Write one set."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="the folder with retrieval/ and sec-10-q/")
    options.add_argument("--set", choices=[*_FOLDERS, "sec-10-q"], required=True)
    options.add_argument("--out", type=Path, required=True, help="output folder")
    chosen = options.parse_args()
    questions = make_set(chosen.set, chosen.data, chosen.out)
    print(f"{chosen.out}: {len(questions)} questions")


def make_set(name: str, data: Path, out: Path) -> list[Question]:
    """Write documents/ and questions.jsonl of the set. Return the questions."""
    documents = out / "documents"
    questions = _filings(data / "sec-10-q", documents) if name == "sec-10-q" else _beir(name, data, documents)
    (out / "questions.jsonl").write_text(dump_questions(questions), encoding="utf-8")
    return questions


def _beir(name: str, data: Path, documents: Path) -> list[Question]:
    folder = data / "retrieval" / _FOLDERS[name]
    files = {doc_id: file for file, doc_id in write_documents(folder / "corpus.jsonl", documents).items()}
    gold: defaultdict[str, list[Gold]] = defaultdict(list)
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if int(row["score"]):
                gold[row["query-id"]].append(Gold(document=files[row["corpus-id"]]))
    with (folder / "queries.jsonl").open(encoding="utf-8") as lines:
        queries = [json.loads(line) for line in lines]
    if name == "squad2":
        queries = _half_unanswerable(queries)
    return [_QUESTION[name](query, tuple(gold[query["_id"]])) for query in queries]


def _half_unanswerable(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rng = random.Random(_SEED)
    halves = ([each for each in queries if each["answerable"] is kind] for kind in (True, False))
    return [each for half in halves for each in rng.sample(half, SAMPLE // 2)]


def _anthropic(query: dict[str, Any], gold: tuple[Gold, ...]) -> Question:
    """Convert a question. The answers are sentences, so only a judge can compare them."""
    return Question(id=query["_id"], question=query["text"], answer=query["answer"], gold=gold)


def _hotpotqa(query: dict[str, Any], gold: tuple[Gold, ...]) -> Question:
    yes_no = query["answer"].casefold() in ("yes", "no")
    return Question(
        id=query["_id"], question=query["text"], accepted=(query["answer"],), gold=gold, tags=(query["type"],),
        type=AnswerType.YES_NO if yes_no else AnswerType.TEXT,
    )  # fmt: skip


def _squad2(query: dict[str, Any], gold: tuple[Gold, ...]) -> Question:
    if not query["answerable"]:
        return Question(id=query["_id"], question=query["text"], type=AnswerType.NONE, tags=("unanswerable",))
    accepted = tuple(dict.fromkeys(query["answers"]))
    return Question(id=query["_id"], question=query["text"], accepted=accepted, gold=gold, tags=("answerable",))


_QUESTION: dict[str, Callable[[dict[str, Any], tuple[Gold, ...]], Question]] = {
    "anthropic_docs": _anthropic, "hotpotqa": _hotpotqa, "squad2": _squad2
}  # fmt: skip


def _filings(data: Path, documents: Path) -> list[Question]:
    documents.mkdir(parents=True, exist_ok=True)
    for file in sorted((data / "docs").glob("*.pdf")):
        shutil.copyfile(file, documents / file.name)
    names = sorted(file.name for file in documents.glob("*.pdf"))
    with (data / "questions.csv").open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [
        Question(
            id=f"sec-{number}",
            question=row["Question"],
            answer=row["Answer"].partition("SOURCE")[0].strip(),
            gold=tuple(Gold(document=name) for name in names if fnmatch.fnmatch(name, f"{row['Source Docs']}.pdf")),
            tags=(row["Question Type"],),
        )
        for number, row in enumerate(rows, start=1)
    ]


if __name__ == "__main__":
    main()

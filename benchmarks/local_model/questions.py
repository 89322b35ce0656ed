"""The questions of the benchmark: SQuAD 2, HotpotQA and the sample documents."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from benchmarks.local_model.results import Record
from multi_agent.evaluation.case import contains_phrase, normalize_answer
from multi_agent.evaluation.question_set import AnswerType, Gold, Question

_SEED = 1

_REPORT, _TABLE = "quarterly_report_q3_2024.pdf", "heat_pump_comparison.xlsx"
SAMPLE_QUESTIONS = (
    Question(
        id="deliveries",
        question="How many heat pumps did Halden Therm deliver in the third quarter of 2024?",
        accepted=("9,412", "9412"),
        gold=(Gold(document=_REPORT, quote="the Group delivered 9,412 heat pumps"),),
    ),
    Question(
        id="coach",
        question="Who coaches Jonah Cheplan?",
        accepted=("Marit Solvang",),
        gold=(
            Gold(
                document="season_review_2024.html", quote="Cheplan has been coached by Marit Solvang since the spring"
            ),
        ),
    ),
    Question(
        id="models",
        question="Which models work below -20 °C?",
        accepted=("Borea 8", "Borea 12", "Tundra 9", "Fjord 14"),
        type=AnswerType.LIST,
        gold=tuple(
            Gold(document=_TABLE, quote=quote)
            for quote in (
                "Borea 8 | Halden Therm | R290 | 8.2 | 4.6 | -25",
                "Borea 12 | Halden Therm | R290 | 12.1 | 4.7 | -25",
                "Tundra 9 | Nordluft | R290 | 9.4 | 4.9 | -28",
                "Fjord 14 | Nordluft | R32 | 13.8 | 4.4 | -22",
            )
        ),
    ),
    Question(
        id="quieter",
        question="Is the Borea 12 quieter than the Tundra 9?",
        accepted=("no",),
        type=AnswerType.YES_NO,
        gold=(
            Gold(document=_TABLE, quote="Tundra 9 | 50 | 45 | test laboratory"),
            Gold(document="borea_12_manual.pdf", quote="Sound power level at nominal load 53 dB(A)"),
        ),
    ),
    Question(
        id="not-there",
        question="How many heat pumps did Halden Therm deliver in the fourth quarter of 2024?",
        type=AnswerType.NONE,
    ),
)


def squad_questions(folder: Path, files: Mapping[str, str], count: int) -> list[Question]:
    """Return ``count`` questions, alternately answerable and unanswerable, from all articles in turn.

    ``files`` has the file name of each passage id. The first N of a larger selection are the selection of N.
    An unanswerable question has no passage in the set; it belongs to the article of the question before it.
    """
    gold = _gold(folder)
    by_article: defaultdict[str, dict[bool, list[Record]]] = defaultdict(lambda: {True: [], False: []})
    article = ""
    for query in _lines(folder / "queries.jsonl"):
        if passages := gold.get(query["_id"]):
            article = passages[0].rpartition("#")[0]
        by_article[article][query["answerable"]].append(query)
    rng = random.Random(_SEED)
    articles = sorted(by_article)
    rng.shuffle(articles)
    for kinds in by_article.values():
        rng.shuffle(kinds[True])
        rng.shuffle(kinds[False])
    # An article gives one question of each kind before the next article's turn.
    turns = [by_article[name] for name in articles]
    most = max(len(queries) for kinds in turns for queries in kinds.values())
    order = [
        kinds[kind][position]
        for position in range(most)
        for kinds in turns
        for kind in (True, False)
        if position < min(len(kinds[True]), len(kinds[False]))
    ]
    return [
        Question(
            id=query["_id"],
            question=query["text"],
            accepted=tuple(dict.fromkeys(query["answers"])) if query["answerable"] else (),
            type=AnswerType.TEXT if query["answerable"] else AnswerType.NONE,
            gold=tuple(Gold(document=files[each]) for each in gold.get(query["_id"], ())),
        )
        for query in order[:count]
    ]


def hotpot_questions(folder: Path, files: Mapping[str, str], count: int) -> list[Question]:
    """Return the first ``count`` questions of the set."""
    gold = _gold(folder)
    return [
        Question(
            id=query["_id"],
            question=query["text"],
            accepted=(query["answer"],),
            type=AnswerType.YES_NO if query["answer"].casefold() in ("yes", "no") else AnswerType.TEXT,
            gold=tuple(Gold(document=files[each]) for each in gold[query["_id"]]),
        )
        for query in _lines(folder / "queries.jsonl")[:count]
    ]


def _gold(folder: Path) -> dict[str, list[str]]:
    """Return the ids of the relevant passages of each question."""
    gold: defaultdict[str, list[str]] = defaultdict(list)
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            if int(row["score"]):
                gold[row["query-id"]].append(row["corpus-id"])
    return dict(gold)


def _lines(file: Path) -> list[Record]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def is_right(question: Question, short: str, text: str) -> bool:
    """Return whether the answer contains an accepted one, with SQuAD's normalization.

    A list needs every item. For yes or no, the first word counts.
    """
    if question.type is AnswerType.NONE:
        return False
    if question.type is AnswerType.YES_NO:
        return normalize_answer(short or text).split()[:1] == [question.accepted[0].casefold()]
    found = [contains_phrase(each, f"{short}\n{text}") for each in question.accepted]
    return all(found) if question.type is AnswerType.LIST else any(found)

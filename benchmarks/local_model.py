"""Measure how a small local model answers through Candor, next to plain RAG with the same model.

    python -m benchmarks.local_model --data DATA/retrieval --home HOME --out RESULTS --base-url URL --model NAME
    python -m benchmarks.local_model --compare BEFORE AFTER

Asks SQuAD 2 (half unanswerable), HotpotQA and five questions about the sample documents, in the systems `fast` and
`auto` (Candor) and `plain` (the passages that the Reader would get, a five-line prompt, free text). Every finished
question is a line of RESULTS/results.jsonl, written at once. The same command again asks only what is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import random
import re
import statistics
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import load_settings
from benchmarks.retrieval import write_documents
from multi_agent.answer import Answer
from multi_agent.evaluation.case import matches_gold
from multi_agent.evaluation.normalize import contains_phrase, normalize_answer
from multi_agent.evaluation.observe import Source, observe
from multi_agent.evaluation.question_set import AnswerType, Gold, Question
from multi_agent.memory.memory import NO_MEMORY
from multi_agent.request import Request
from vectorstore.models import Chunk

SYSTEMS = ("fast", "auto", "plain")
SCHEMA_ERRORS = ("InvalidResponse", "PlanError")
PLAIN_TOKENS = 200  # of a response; the answers are a few words
_SEED = 1
_RESULTS = "results.jsonl"
_PLAIN_PROMPT = """Answer the question with the passages below.
Use only what the passages say.
Reply with the answer alone, in as few words as possible.
If the passages do not contain the answer, reply: unanswerable
{passages}

Question: {question}"""
_REFUSAL = re.compile(
    r"unanswerable|cannot be (answered|determined)|(do|does|did|is|are|was|were)(n't| not) "
    r"(contain|mention|provide|specif|state|given|say|includ|list)|no (information|mention|answer)",
    re.IGNORECASE,
)

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

Record = dict[str, Any]
"""One line of results.jsonl: the question, what the system said, and what was measured."""


def main() -> None:
    """Measure, or compare two result folders."""
    options = _options()
    chosen = options.parse_args()
    if chosen.compare:
        print(compare(*(read_records(folder) for folder in chosen.compare)))
        return
    for name in ("data", "home", "out", *(() if chosen.gguf else ("base_url", "model"))):
        if getattr(chosen, name) is None:
            options.error(f"--{name.replace('_', '-')} is missing")
    if chosen.gguf and "plain" in chosen.systems:
        options.error("'plain' asks an endpoint: give --base-url and --model, or leave it out with --systems fast auto")
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "about.json").write_text(json.dumps(_about(chosen), indent=2), encoding="utf-8")
    try:
        _measure(chosen)
    finally:
        print(summary(read_records(chosen.out)))


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, help="folder with squad2_cs224n_dev and hotpotqa_dev100")
    options.add_argument("--home", type=Path, help="data folder; a second run finds its collections here")
    options.add_argument("--out", type=Path, help="folder of the results")
    options.add_argument("--base-url", help="endpoint with the OpenAI protocol, such as http://127.0.0.1:11600/v1")
    options.add_argument("--model", help="name of the model at the endpoint")
    options.add_argument("--gguf", type=Path, help="a model file that Candor loads itself, in place of an endpoint")
    options.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    options.add_argument("--squad", type=int, default=40, metavar="N", help="SQuAD 2 questions, half unanswerable")
    options.add_argument("--hotpot", type=int, default=20, metavar="N", help="HotpotQA questions")
    options.add_argument("--sample", type=int, default=5, metavar="N", help="questions about the sample documents")
    options.add_argument(
        "--max-output", type=int, metavar="TOKENS", help="maximum tokens of a response, if not Candor's"
    )
    options.add_argument("--timeout", type=float, default=1800, metavar="S", help="maximum seconds of one request")
    options.add_argument("--compare", nargs=2, type=Path, metavar=("A", "B"), help="print two results side by side")
    return options


def _about(chosen: argparse.Namespace) -> Record:
    code = Path(__file__).resolve().parent
    commit = subprocess.run(
        ["git", "-C", str(code), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return {"commit": commit.stdout.strip(), **{name: str(value) for name, value in vars(chosen).items()}}


# Questions


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


# Measuring


def _measure(chosen: argparse.Namespace) -> None:
    endpoint: dict[str, Any] = (
        {"provider": "local", "model": str(chosen.gguf.absolute())}
        if chosen.gguf
        else {"provider": "openai", "base_url": chosen.base_url, "model": chosen.model}
    )
    endpoint["timeout_s"] = chosen.timeout
    if chosen.max_output:  # an endless response holds a slow model for many minutes
        endpoint["max_output_tokens"] = chosen.max_output
    # No plan of an earlier question is shown: the order of the questions must not matter.
    research = {"plan_examples": 0, "remember_plans": False, "step_timeout_s": 4 * chosen.timeout}
    candor = Candor(load_settings(chosen.home, llm=endpoint, research=research))
    done = {_key(record) for record in read_records(chosen.out)}
    for name, collection, questions in _sets(candor, chosen):
        asyncio.run(_measure_set(candor, chosen, name, collection, questions, done))


def _sets(candor: Candor, chosen: argparse.Namespace) -> Iterable[tuple[str, str, list[Question]]]:
    """Ingest the documents of each set. Yield its name, collection and questions."""
    if chosen.sample:
        folder = Path(__file__).resolve().parents[1] / "sample_docs" / "documents"
        run_ingest(candor, [folder], "sample_docs", progress=True)
        yield "sample", "sample_docs", list(SAMPLE_QUESTIONS[: chosen.sample])
    public = (("squad", "squad2_cs224n_dev", squad_questions), ("hotpot", "hotpotqa_dev100", hotpot_questions))
    for name, collection, make in public:
        if count := getattr(chosen, name):
            documents = chosen.home / "sets" / collection
            files = {doc_id: file for file, doc_id in write_documents(_corpus(chosen, collection), documents).items()}
            run_ingest(candor, [documents], collection, progress=True)
            yield name, collection, make(chosen.data / collection, files, count)


def _corpus(chosen: argparse.Namespace, collection: str) -> Path:
    file: Path = chosen.data / collection / "corpus.jsonl"
    if not file.exists():
        raise SystemExit(f"There is no {file}. --data is the folder that contains {collection}.")
    return file


async def _measure_set(
    candor: Candor,
    chosen: argparse.Namespace,
    name: str,
    collection: str,
    questions: Sequence[Question],
    done: set[tuple[str, str, str]],
) -> None:
    with candor.collections.open_library(collection) as library:
        orchestrator = replace(candor.panel.orchestrator(library), memory=NO_MEMORY)

        @lru_cache(maxsize=64)
        def source_of(document: str) -> Source:
            record = candor.ledger.get(collection, document)
            return Source(record.title if record else "", candor.ledger.text(collection, document).text)

        async def ask_candor(question: Question, mode: Any) -> Record:
            answer = await orchestrator.research(Request(question=question.question, mode=mode), examples=())
            return _describe_run(question, answer, candor.trace.events(answer.run_id), source_of)

        async def ask_plain(question: Question) -> Record:
            passages = library.search([question.question], candor.settings.research.reader_passages)
            return await asyncio.to_thread(_ask_plain, chosen, question, passages)

        for system in chosen.systems:
            for number, question in enumerate(questions, start=1):
                identity = {"system": system, "set": name, "id": question.id}
                if _key(identity) in done:
                    continue
                asked = ask_plain(question) if system == "plain" else ask_candor(question, system)
                record = identity | await _timed(question, asked)
                _append(chosen.out, record)
                verdict = "right" if record["right"] else record["status"]
                print(f"{name} {system} {number}/{len(questions)}: {verdict}, {record['seconds']:.0f} s", flush=True)


async def _timed(question: Question, asked: Awaitable[Record]) -> Record:
    began = time.perf_counter()
    said = await asked
    seconds = round(time.perf_counter() - began, 2)
    known = {"question": question.question, "accepted": list(question.accepted), "answerable": bool(question.accepted)}
    right = said["status"] == "answered" and is_right(question, said["short"], said["answer"])
    return {**known, **said, "right": right, "seconds": seconds}


def _describe_run(
    question: Question, answer: Answer, events: Sequence[Any], source_of: Callable[[str], Source]
) -> Record:
    """Return the record of a run. Raises SystemExit if the model could not be reached: that says nothing about it."""
    bodies = [event.body.model_dump(mode="json") for event in events]
    errors = find_errors(bodies, answer.status.value)
    if lost := [each for each in errors if each in ("LLMUnreachable", "LLMUnavailable", "LLMRefused")]:
        raise SystemExit(f"{lost[0]}: {answer.reasoning}\nStart the same command again to continue.")
    case = observe(question, answer, events, source_of)
    cited = [
        {"document": each.document, "quote": each.quote, "in_source": each.in_source, "precise": precise}
        for each in case.cited
        for precise in [
            any(contains_phrase(accepted, each.quote) for accepted in question.accepted)
            or any(matches_gold(gold, each) for gold in question.gold)
        ]
    ]
    return {
        "status": answer.status.value,
        "answer": case.full_text,
        "short": answer.short,
        "confidence": answer.confidence,
        "reason": answer.reasoning,
        "errors": errors,
        "rejected": count_rejected(bodies),
        "repairs": sum(len(body["repairs"]) for body in bodies if body["type"] == "response_repaired"),
        "callers": count_calls(bodies),
        "cited": cited,
        "run_id": answer.run_id,
    }


def find_errors(bodies: Iterable[Mapping[str, Any]], status: str) -> list[str]:
    """Return the types of the errors of a run. A run that fails before its first plan is valid has a PlanError.

    The planner's error has no event of its own, only the plans that it rejected.
    """
    bodies = list(bodies)
    errors = [body["error_type"] for body in bodies if body["type"] in ("model_failed", "step_failed")]
    kinds = {body["type"] for body in bodies}
    if status == "failed" and not errors and "plan_rejected" in kinds and "plan_made" not in kinds:
        errors.append("PlanError")
    return list(dict.fromkeys(errors))


def count_rejected(bodies: Iterable[Mapping[str, Any]]) -> int:
    """Return how many responses were rejected, by their schema or as a plan."""
    return sum(
        1 if body["type"] == "plan_rejected" else len(body["faults"])
        for body in bodies
        if body["type"] in ("model_called", "model_failed", "plan_rejected")
    )


def count_calls(bodies: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return calls, tokens and seconds by caller, failed calls included."""
    callers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for body in bodies:
        if body["type"] in ("model_called", "model_failed"):
            usage = body["usage"]
            callers[body["caller"]].update(
                calls=usage["model_calls"],
                prompt=usage["prompt_tokens"],
                cached=usage.get("cached_tokens", 0),
                completion=usage["completion_tokens"],
                seconds=round(usage["seconds"], 2),
            )
    return {name: dict(counts) for name, counts in callers.items()}


def _ask_plain(chosen: argparse.Namespace, question: Question, passages: Sequence[Chunk]) -> Record:
    shown = "\n\n".join(f"[{number}] {chunk.name}\n{chunk.embedded_text}" for number, chunk in enumerate(passages, 1))
    request = {
        "model": chosen.model,
        "messages": [
            {"role": "user", "content": _PLAIN_PROMPT.format(passages=shown, question=question.question)},
        ],
        "temperature": 0,
        "max_tokens": PLAIN_TOKENS,
    }
    began = time.perf_counter()
    try:
        response = httpx.post(f"{chosen.base_url}/chat/completions", json=request, timeout=chosen.timeout)
        response.raise_for_status()
    except httpx.HTTPError as error:
        raise SystemExit(f"{chosen.base_url}: {error!r}\nStart the same command again to continue.") from error
    reply = response.json()
    usage, text = reply["usage"], reply["choices"][0]["message"]["content"].strip()
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    spent = {
        "calls": 1, "prompt": usage["prompt_tokens"], "cached": cached, "completion": usage["completion_tokens"],
        "seconds": round(time.perf_counter() - began, 2),
    }  # fmt: skip
    return {
        "status": "insufficient" if is_refusal(text) else "answered",
        "answer": text,
        "short": "",
        "confidence": None,
        "errors": [],
        "rejected": 0,
        "repairs": 0,
        "callers": {"plain": spent},
        "cited": [],
    }


def is_refusal(text: str) -> bool:
    """Return whether a free text says that the passages do not contain the answer."""
    return not text.strip() or bool(_REFUSAL.search(text))


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


# Results


def _key(record: Mapping[str, Any]) -> tuple[str, str, str]:
    return record["system"], record["set"], record["id"]


def _append(folder: Path, record: Record) -> None:
    with (folder / _RESULTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_records(folder: Path) -> list[Record]:
    """Return the finished questions. Cuts a line that a killed run left unfinished."""
    file = folder / _RESULTS
    if not file.exists():
        return []
    content = file.read_bytes()
    complete = content[: content.rfind(b"\n") + 1]
    if complete != content:
        file.write_bytes(complete)
    return [json.loads(line) for line in complete.decode("utf-8").split("\n") if line]


def summary(records: Sequence[Record]) -> str:
    """Return the tables of all systems in one result folder."""
    systems = {name: [each for each in records if each["system"] == name] for name in SYSTEMS}
    return _tables({name: rows for name, rows in systems.items() if rows})


def compare(before: Sequence[Record], after: Sequence[Record]) -> str:
    """Return the tables of two result folders side by side, over the questions that both have."""
    shared = {_key(each) for each in before} & {_key(each) for each in after}
    columns = {
        f"{name}, {label}": [each for each in records if _key(each) in shared and each["system"] == name]
        for name in SYSTEMS
        for label, records in (("before", before), ("after", after))
    }
    return _tables({name: rows for name, rows in columns.items() if rows})


def _tables(columns: Mapping[str, Sequence[Record]]) -> str:
    figures = {name: measure(records) for name, records in columns.items()}
    callers = {name: measure_callers(records) for name, records in columns.items()}
    tables = [_table("", figures)]
    tables += [_table("tokens a call: prompt / cached / completion; calls", callers)] if any(callers.values()) else []
    calibration = {name: calibrate(records) for name, records in columns.items()}
    if any(calibration.values()):
        tables.append(_table("right of the answered, by confidence", calibration))
    return "\n\n".join(tables)


def _table(title: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    rows = list(dict.fromkeys(row for column in columns.values() for row in column))
    lines = [f"| {' | '.join([title, *columns])} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {' | '.join([row, *(column.get(row, '') for column in columns.values())])} |" for row in rows]
    return "\n".join(lines)


def measure(records: Sequence[Record]) -> dict[str, str]:
    """Return the figures of one system as text, by name."""
    answerable = [each for each in records if each["answerable"]]
    unanswerable = [each for each in records if not each["answerable"]]
    cited = [quote for each in records if each["status"] == "answered" for quote in each["cited"]]
    precise = [quote for each in answerable if each["status"] == "answered" for quote in each["cited"]]
    figures = {
        "questions": str(len(records)),
        "without schema failure": _share(not set(SCHEMA_ERRORS) & set(each["errors"]) for each in records),
        "failed": _share(each["status"] == "failed" for each in records),
        "answerable: right": _share(each["right"] for each in answerable),
    }
    for name in dict.fromkeys(each["set"] for each in records):
        figures[f"… {name}"] = _share(each["right"] for each in answerable if each["set"] == name)
    return figures | {
        "answerable: wrong answer": _share(each["status"] == "answered" and not each["right"] for each in answerable),
        "answerable: refused": _share(each["status"] == "insufficient" for each in answerable),
        "unanswerable: refused": _share(each["status"] == "insufficient" for each in unanswerable),
        "citations in source": _share(quote["in_source"] for quote in cited),
        "citations precise": _share(quote["precise"] for quote in precise),
        "model calls": _mean(_sums(records, "calls"), 1),
        "prompt tokens": _mean(_sums(records, "prompt")),
        "… of them cached": _mean(_sums(records, "cached")),
        "completion tokens": _mean(_sums(records, "completion")),
        "rejected responses": str(sum(each["rejected"] for each in records)),
        "repairs": str(sum(each["repairs"] for each in records)),
        "seconds, median": f"{statistics.median(each['seconds'] for each in records):.0f}",
        "seconds, p90": f"{percentile([each['seconds'] for each in records], 0.9):.0f}",
    }


def measure_callers(records: Sequence[Record]) -> dict[str, str]:
    """Return the tokens of an average call, and the number of calls, by caller."""
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in records:
        for name, counts in each["callers"].items():
            totals[name].update(counts)
    return {
        name: " / ".join(f"{total[kind] / (total['calls'] or 1):,.0f}" for kind in ("prompt", "cached", "completion"))
        + f"; {total['calls']}"
        for name, total in totals.items()
    }


def calibrate(records: Iterable[Record]) -> dict[str, str]:
    """Return how many answers are right, by confidence rounded to one decimal."""
    bins: defaultdict[float, list[bool]] = defaultdict(list)
    for each in records:
        if each["status"] == "answered" and each["confidence"] is not None:
            bins[round(each["confidence"], 1)].append(each["right"])
    return {f"{value:.1f}": _share(bins[value]) for value in sorted(bins, reverse=True)}


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least ``share`` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def _sums(records: Iterable[Record], kind: str) -> list[float]:
    return [sum(counts[kind] for counts in each["callers"].values()) for each in records]


def _share(values: Iterable[bool]) -> str:
    found = list(values)
    return f"{sum(found)} of {len(found)}" if found else ""


def _mean(values: Sequence[float], digits: int = 0) -> str:
    return f"{statistics.fmean(values):,.{digits}f}"


if __name__ == "__main__":
    main()

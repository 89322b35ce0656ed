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
import json
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import load_settings
from benchmarks.local_model.plain import ask_plain
from benchmarks.local_model.questions import SAMPLE_QUESTIONS, hotpot_questions, is_right, squad_questions
from benchmarks.local_model.results import (
    SYSTEMS,
    Record,
    append_record,
    compare,
    key_of,
    read_records,
    summary,
)
from benchmarks.retrieval import write_documents
from multi_agent.evaluation.case import contains_phrase, matches_gold
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.runner import Source, observe
from multi_agent.memory.memories import NO_MEMORY
from multi_agent.values.answer import Answer
from multi_agent.values.request import Request


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
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.local_model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
    done = {key_of(record) for record in read_records(chosen.out)}
    for name, collection, questions in _sets(candor, chosen):
        asyncio.run(_measure_set(candor, chosen, name, collection, questions, done))


def _sets(candor: Candor, chosen: argparse.Namespace) -> Iterable[tuple[str, str, list[Question]]]:
    """Ingest the documents of each set. Yield its name, collection and questions."""
    if chosen.sample:
        folder = Path(__file__).resolve().parents[2] / "sample_docs" / "documents"
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

        async def ask_plainly(question: Question) -> Record:
            hits = library.search([question.question], candor.settings.research.reader_passages)
            passages = [hit.chunk for hit in hits]
            return await asyncio.to_thread(
                ask_plain, question, passages, chosen.base_url, chosen.model, timeout_s=chosen.timeout
            )

        for system in chosen.systems:
            for number, question in enumerate(questions, start=1):
                identity = {"system": system, "set": name, "id": question.id}
                if key_of(identity) in done:
                    continue
                asked = ask_plainly(question) if system == "plain" else ask_candor(question, system)
                record = identity | await _timed(question, asked)
                append_record(chosen.out, record)
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


if __name__ == "__main__":
    main()

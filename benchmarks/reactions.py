"""Compare answers with and without reactions of agents: right answers, model calls and tokens.

    CANDOR_LLM__… CANDOR_RESEARCH__PASSAGES=6 python -m benchmarks.reactions --home HOME [--questions ID …]

Ingests the sample documents and asks ten of their questions in mode `high`, with `research.reactions` on and off. The
ten need several documents, or have documents that disagree. With few passages per search, the first one misses some.
Run the same command with the same --home to resume.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import load_settings
from multi_agent.evaluation.case import Place
from multi_agent.evaluation.question_set import QuestionSet, load_questions
from multi_agent.evaluation.store import EvaluationResult, State
from multi_agent.settings.research import Budget

SAMPLES = Path(__file__).parents[1] / "sample_docs"
COLLECTION = "samples"
QUESTIONS = (
    "compressor-supplier-town",
    "coach-fastest-2024",
    "auenweg-lowest-temperature",
    "compressor-price",
    "scop-borea-12",
    "warranty-before-march-2024",
    "service-share",
    "rent-june-2028",
    "keys-total",
    "kallavesi-chief",
)
CONFIGURATIONS = {"reactions": True, "no reactions": False}


def main() -> None:
    """Ingest the documents, ask the questions and print the results."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--home", type=Path, required=True, help="data folder for the collection, runs and figures")
    options.add_argument(
        "--questions", nargs="*", default=list(QUESTIONS), help="ask only the questions with these ids"
    )
    options.add_argument("--parallel", type=int, default=10)
    chosen = options.parse_args()
    candor = Candor(load_settings(chosen.home))
    run_ingest(candor, [SAMPLES / "documents"], COLLECTION, progress=True)
    questions = _questions(chosen.questions)
    results = [_result(candor, questions, label) for label in CONFIGURATIONS]
    candor.evaluations.run_all(results, parallel=chosen.parallel, budget=Budget(), on_row=lambda *_: None)
    console = Console(highlight=False)
    for result in results:
        console.print(_table(candor, candor.evaluations.store.get(result.evaluation.id)))


def _questions(ids: list[str]) -> QuestionSet:
    loaded = load_questions(SAMPLES / "questions.jsonl")
    kept = tuple(each for each in loaded.questions if each.id in ids)
    return loaded.model_copy(update={"questions": kept, "name": "reactions"})


def _result(candor: Candor, questions: QuestionSet, label: str) -> EvaluationResult:
    """Return the unfinished evaluation with these questions and this configuration, or a new one."""
    settings = {"research": {"reactions": CONFIGURATIONS[label]}}
    configuration = candor.evaluations.make_configuration({"label": label, "mode": "high", "settings": settings}, label)
    for known in candor.evaluations.store.list():
        same = known.fingerprint == questions.fingerprint and known.configuration == configuration
        if same and known.state is not State.FINISHED:
            return candor.evaluations.store.get(known.id)
    return candor.evaluations.start(questions, COLLECTION, configuration)


def _table(candor: Candor, result: EvaluationResult) -> Table:
    """Return a row per question and the totals."""
    table = Table(title=result.evaluation.configuration.label)
    for column in ("question", "right", "calls", "prompt tokens", "reactions", "answer"):
        table.add_column(column)
    totals = Counter[str]()
    for row in result.rows:
        events = candor.trace.events(row.run_id)
        counted = {
            "right": int(row.place is Place.RIGHT),
            "calls": row.spent.model_calls,
            "prompt tokens": row.spent.prompt_tokens,
            "reactions": sum(event.body.type == "step_started" and event.body.woken_by is not None for event in events),
        }
        totals.update(counted)
        table.add_row(row.question_id, *map(str, counted.values()), row.said)
    table.add_row(f"{len(result.rows)} questions", *(str(totals[name]) for name in counted), style="bold")
    return table


if __name__ == "__main__":
    main()

"""Measure answers over public question sets, in one or several configurations.

    CANDOR_LLM__… python -m benchmarks.answering --data DATA --set hotpotqa --home HOME [--limit 12] [--judge default]

Ingests the documents of the set, asks its questions as `candor eval` does, in the configurations `fast`, `auto`, `high`
and `high, 3 samples` (or the named ones), and prints a table. Run the same command with the same --home to resume.
Published figures in benchmarks/README.md are from other models.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.cli.render.evaluations import progress, show_comparison, show_summary
from api.settings import load_settings
from benchmarks.question_sets import make_set
from multi_agent.evaluation.question_set import load_questions
from multi_agent.evaluation.store import EvaluationResult, State
from multi_agent.evaluation.summary import compare_evaluations, summarize
from multi_agent.settings.research import Budget

SETS = ("anthropic_docs", "sec-10-q", "squad2", "hotpotqa")
CONFIGURATIONS = {
    "fast": {"mode": "fast"},
    "auto": {"mode": "auto"},
    "high": {"mode": "high"},
    "high, 3 samples": {"mode": "high", "samples": 3},
}


def main() -> None:
    """Ingest, ask, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="the folder with retrieval/ and sec-10-q/")
    options.add_argument("--set", choices=SETS, required=True)
    options.add_argument("--home", type=Path, required=True, help="data folder for collections, runs and figures")
    options.add_argument("--configurations", nargs="*", choices=CONFIGURATIONS, default=list(CONFIGURATIONS))
    options.add_argument("--limit", type=int, help="ask only the first N questions")
    options.add_argument("--questions", nargs="*", help="ask only the questions with these ids")
    options.add_argument("--judge", help="endpoint of the judge; 'default' is the answering model")
    options.add_argument("--parallel", type=int, default=4)
    chosen = options.parse_args()
    candor = Candor(load_settings(chosen.home))
    folder = chosen.home / "sets" / chosen.set
    if not (folder / "questions.jsonl").exists():
        make_set(chosen.set, chosen.data, folder)
    run_ingest(candor, [folder / "documents"], chosen.set, progress=True)
    results = [_result(candor, chosen, folder / "questions.jsonl", label) for label in chosen.configurations]
    with progress(results, visible=True) as show_row:
        candor.evaluations.run_all(results, parallel=chosen.parallel, budget=Budget(), on_row=show_row)
    store, console = candor.evaluations.store, Console(highlight=False)
    finished = [store.get(each.evaluation.id) for each in results]
    for each in finished:
        show_summary(console, each, summarize(each))
    for other in finished[1:]:
        show_comparison(console, finished[0].evaluation, other.evaluation, compare_evaluations(finished[0], other))


def _result(candor: Candor, chosen: argparse.Namespace, path: Path, label: str) -> EvaluationResult:
    """Return the unfinished evaluation with the same questions and configuration, or a new one."""
    questions = load_questions(path).limited(chosen.limit)
    if chosen.questions:
        kept = tuple(each for each in questions.questions if each.id in chosen.questions)
        questions = questions.model_copy(update={"questions": kept})
    questions = questions.model_copy(update={"name": chosen.set})
    configuration = candor.evaluations.make_configuration({"label": label, **CONFIGURATIONS[label]}, label)
    judge = "" if chosen.judge == "default" else chosen.judge
    for known in candor.evaluations.store.list():
        same = known.fingerprint == questions.fingerprint and known.configuration == configuration
        if same and known.judge_endpoint == judge and known.state is not State.FINISHED:
            return candor.evaluations.store.get(known.id)
    return candor.evaluations.start(questions, chosen.set, configuration, judge=judge)


if __name__ == "__main__":
    main()

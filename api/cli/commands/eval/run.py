"""``candor eval run`` and ``resume``: ask the questions, then print figures and set the exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import LIMITS, Cli, CollectionOption, command, make_console, print_json, print_message
from api.errors import UsageError
from base.counts import count

if TYPE_CHECKING:
    from api.services.evaluation.evaluations import Evaluations
    from api.services.evaluation.gate import EvaluationGate
    from multi_agent.evaluation.metric import Metric
    from multi_agent.evaluation.store import EvaluationResult

app = command()

Parallel = Annotated[int, typer.Option("--parallel", min=1, max=256, help="Number of questions asked in parallel.")]
FailIf = Annotated[
    list[str] | None,
    typer.Option("--fail-if", help="Exit with code 1 if this condition holds, e.g. 'f1 < 0.7'. Repeatable."),
]
WorseThan = Annotated[
    str | None,
    typer.Option("--fail-if-worse-than", help="Exit with code 1 if the result is worse than this evaluation."),
]
FigureName = Annotated[str, typer.Option("--figure", help="The figure that --fail-if-worse-than compares.")]


@app.command(shares=LIMITS)
def run(
    cli: Cli,
    questions: Annotated[Path, typer.Argument(help="Question set: .jsonl or .csv.")],
    collection: CollectionOption = None,
    config: Annotated[
        list[Path] | None,
        typer.Option("--config", help="TOML file of a configuration. Repeat it to compare several."),
    ] = None,
    mode: Annotated[str, typer.Option("--mode", help="auto, fast or high. Not with --config.")] = "auto",
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, max=32, help="Generate N answers and vote. Not with --config.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Ask only the first N questions.")] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge", help="Also let a model judge: the name of its endpoint, or 'default'.", show_default=False
        ),
    ] = None,
    metric: Annotated[list[str] | None, typer.Option("--metric", help="Only this metric. Repeatable.")] = None,
    parallel: Parallel = 4,
    fail_if: FailIf = None,
    fail_if_worse_than: WorseThan = None,
    figure: FigureName = "correct",
) -> None:
    """Ask every question of a set and measure the answers. If interrupted, use `candor eval resume`.

    The limits are those of each configuration. Exit code 1 if a --fail-if condition holds, or if a limit leaves
    questions unanswered.

    Example: candor eval run questions.jsonl --collection papers --fail-if 'f1 < 0.7'
    """
    from api.cli.render.evaluations import missing_gold_lines
    from api.services.evaluation.evaluations import choose_metrics
    from multi_agent.evaluation.draft_questions import DRAFT
    from multi_agent.evaluation.question_set import AnswerType, load_questions

    candor = cli.make_candor()
    evaluations = candor.evaluations
    question_set = load_questions(questions).limited(limit)
    metrics = choose_metrics(metric or (), judged=judge is not None)
    gate = _gate(evaluations, fail_if, fail_if_worse_than, figure, metrics, question_set.fingerprint)
    if drafts := sum(DRAFT in each.tags for each in question_set.questions):
        print_message(f"{drafts} of {count(len(question_set.questions), 'question')} not yet reviewed (tag 'draft').")
    if judge is None and not any(each.accepted or each.type is AnswerType.NONE for each in question_set.questions):
        print_message(
            "Right and wrong answers are not counted because no question has `accepted` (short correct answers). "
            "Complete answers in `answer` need --judge."
        )
    if config and (mode != "auto" or samples):
        raise UsageError("--mode and --samples cannot be combined with --config. Set them in the configuration.")
    options = {"label": mode if samples is None else f"{mode}, {samples} samples", "mode": mode, "samples": samples}
    configurations = [evaluations.read_configuration(path) for path in config or ()] or [
        evaluations.make_configuration(options, "command line")
    ]
    name = candor.collections.resolve(collection)
    with candor.collections.open_library(name):  # raises if the collection does not exist
        for line in missing_gold_lines(evaluations.missing_gold(name, question_set.questions)):
            print_message(line)
        endpoint = "" if judge == "default" else judge
        results = [
            evaluations.start(question_set, name, each, metrics=tuple(metrics), judge=endpoint)
            for each in configurations
        ]
    _ask_questions(evaluations, results, parallel, cli)
    _conclude(evaluations, [each.evaluation.id for each in results], gate, cli)


@app.command(shares=LIMITS)
def resume(
    cli: Cli,
    evaluation: Annotated[str, typer.Argument(help="Evaluation id, or a unique prefix of it.")],
    parallel: Parallel = 4,
    fail_if: FailIf = None,
    fail_if_worse_than: WorseThan = None,
    figure: FigureName = "correct",
) -> None:
    """Resume an evaluation that was interrupted or reached a limit. Finished questions are not asked again.

    Example: candor eval resume eval_3f2a
    """
    from api.services.evaluation.evaluations import choose_metrics

    evaluations = cli.make_candor().evaluations
    result = evaluations.store.get(evaluation)
    stored = result.evaluation
    metrics = choose_metrics(stored.metrics, judged=stored.judge_endpoint is not None)
    gate = _gate(evaluations, fail_if, fail_if_worse_than, figure, metrics, stored.fingerprint)
    _ask_questions(evaluations, [result], parallel, cli)
    _conclude(evaluations, [stored.id], gate, cli)


def _gate(
    evaluations: Evaluations, conditions: list[str] | None, baseline: str | None, figure: str,
    metrics: dict[str, Metric], fingerprint: str,
) -> EvaluationGate:  # fmt: skip
    from api.services.evaluation.gate import EvaluationGate

    against = evaluations.store.get(baseline) if baseline else None
    return EvaluationGate(conditions or (), against, figure, metrics.values(), fingerprint)


def _ask_questions(evaluations: Evaluations, results: list[EvaluationResult], parallel: int, cli: Cli) -> None:
    """Ask the remaining questions of each evaluation. On Ctrl-C, print how to resume and raise KeyboardInterrupt."""
    from api.cli.render.evaluations import progress, unfinished_lines
    from multi_agent.settings.research import Budget

    for result in results:
        label = result.evaluation.configuration.label
        print_message(f"{result.evaluation.id}: {label}, {count(len(result.questions), 'question')}")
    with progress(results, visible=not cli.as_json) as show_row:
        try:
            evaluations.run_all(results, parallel=parallel, budget=Budget.model_validate(cli.limits), on_row=show_row)
        except KeyboardInterrupt:
            for line in unfinished_lines([evaluations.store.get(result.evaluation.id) for result in results]):
                print_message(f"candor: {line}")
            raise


def _conclude(evaluations: Evaluations, ids: list[str], gate: EvaluationGate, cli: Cli) -> None:
    """Print the results. Exit with code 1 if the gate fails or questions are left."""
    from api.cli.render.evaluations import show_comparison, show_summary, unfinished_lines
    from multi_agent.evaluation.summary import compare_evaluations, summarize

    store = evaluations.store
    results = [store.get(each) for each in ids]
    summaries = [summarize(result) for result in results]
    comparisons = [compare_evaluations(results[0], other) for other in results[1:]]
    checks = [gate.compare_with_baseline(result) for result in results]
    failures = [failure for summary in summaries for failure in gate.failed_conditions(summary)]
    failures += [message for message, is_worse in checks if is_worse]
    failures += unfinished_lines(results)
    if cli.as_json:
        shown = [
            {**result.model_dump(mode="json"), "summary": summary}
            for result, summary in zip(results, summaries, strict=True)
        ]
        print_json({"evaluations": shown, "comparisons": comparisons, "failures": failures})
    else:
        console = make_console()
        for result, summary in zip(results, summaries, strict=True):
            show_summary(console, result, summary)
        for other, comparison in zip(results[1:], comparisons, strict=True):
            show_comparison(console, results[0].evaluation, other.evaluation, comparison)
    for message in [*failures, *(message for message, is_worse in checks if message and not is_worse)]:
        print_message(f"candor: {message}")
    if failures:
        raise typer.Exit(1)

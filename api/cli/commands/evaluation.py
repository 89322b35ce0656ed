"""Commands about evaluations: how good the answers are, and whether a change made them better."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.common import (
    CollectionOption,
    Home,
    Json,
    listing,
    make_candor,
    make_console,
    plain,
    print_json,
    say,
    show_list,
    tell_written,
)
from api.errors import UsageError

if TYPE_CHECKING:
    from api.bootstrap import Candor
    from api.services.evaluation_demands import Demands
    from multi_agent.evaluation.records import EvaluationResult

app = listing("Ask a set of questions, and measure the answers.")

Parallel = Annotated[int, typer.Option("--parallel", min=1, max=256, help="Questions under way at once.")]
Judge = Annotated[
    str | None,
    typer.Option("--judge", help="Let a model judge, too: the name of its endpoint, or 'default'.", show_default=False),
]
MaxCalls = Annotated[
    int | None,
    typer.Option("--max-calls", min=1, help="Model calls that the questions may take, of each configuration."),
]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Tokens that they may take.")]
MaxSeconds = Annotated[
    float | None, typer.Option("--max-seconds", min=0.1, help="Time after which no more question is begun.")
]
MaxCost = Annotated[float | None, typer.Option("--max-cost", min=0.0001, help="What they may cost.")]
FailIf = Annotated[list[str] | None, typer.Option("--fail-if", help="Exit with 1 if this holds, such as 'f1 < 0.7'.")]
WorseThan = Annotated[
    str | None, typer.Option("--fail-if-worse-than", help="Exit with 1 if it is worse than this evaluation.")
]
FigureName = Annotated[str, typer.Option("--figure", help="The figure in which it must not be worse.")]
ByTag = Annotated[bool, typer.Option("--by-tag", help="Take questions with the same tags as one, for the intervals.")]


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="The file to write: .jsonl or .csv.")], as_json: Json = False
) -> None:
    """Write a question set to start from.

    Example: candor eval init questions.csv
    """
    if path.suffix not in (".jsonl", ".csv"):
        raise UsageError(f"A question set is a .jsonl or a .csv file; {str(path)!r} is neither.")
    text = files("sample_docs").joinpath(f"question_set{path.suffix}").read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error.strerror}.") from error
    told = f"Wrote {path}. Put your own questions there, then: candor eval run {path} --collection NAME"
    tell_written(path, told, as_json)


@app.command()
def draft(
    output: Annotated[Path, typer.Argument(help="The .jsonl file to write.")],
    collection: CollectionOption = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Passages to ask about.")] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Another one chooses other passages.")] = 1,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Let the model propose questions about a collection, each with its answer and the words it stands in.

    Read every one, correct it, and take the tag 'draft' away: `candor eval run` says how many are left.

    Example: candor eval draft questions.jsonl -c papers --count 30
    """
    from api.services.evaluations import draft_questions

    if output.suffix != ".jsonl":
        raise UsageError(f"Drafts are written to a new .jsonl file; {str(output)!r} is none.")
    candor = make_candor(home)
    name = candor.collection_name(collection)
    try:
        file = output.open("x", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{str(output)!r} cannot be written: {error.strerror}.") from error
    try:
        with file:
            written = draft_questions(candor, name, count, seed, keep_in=file, tell=say)
    finally:
        if not output.stat().st_size:
            output.unlink()
    if not written:
        raise UsageError("No passage gave a question, so nothing was written; another --seed chooses other passages.")
    told = f"Wrote {written} drafts to {output}. Check each: the model wrote both question and answer."
    tell_written(output, told, as_json)


@app.command()
def calibrate(
    evaluation: Annotated[str, typer.Argument(help="The evaluation that a judge has graded.")],
    labels: Annotated[Path, typer.Argument(help="CSV with the columns id and grade: 1, 0.5 or 0, by a person.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """How far the judge of an evaluation agrees with a person who graded some of its answers.

    Example: candor eval calibrate eval_3f2a labels.csv
    """
    from api.services.evaluations import read_labels, store_of
    from multi_agent.evaluation.calibration import calibrate as compare_grades

    result = store_of(make_candor(home)).get(evaluation)
    judged = {row.question_id: row.figures["judged"] for row in result.rows if "judged" in row.figures}
    calibration = compare_grades(judged, read_labels(labels))
    if as_json:
        print_json(plain(calibration))
        return
    agreement = calibration.agreement
    kappa = "not defined, as one of both gave one grade only" if calibration.kappa is None else (
        f"{calibration.kappa:.2f}")  # fmt: skip
    say(
        f"{agreement.n} answers graded by both. Equal grades: {agreement.mean:.2f} ({agreement.low:.2f} to "
        f"{agreement.high:.2f}). Cohen's kappa: {kappa}. The judge was kinder {calibration.too_kind} times, "
        f"stricter {calibration.too_strict} times."
    )


@app.command()
def run(
    questions: Annotated[Path, typer.Argument(help="The question set, .jsonl or .csv.")],
    collection: CollectionOption = None,
    config: Annotated[
        list[Path] | None, typer.Option("--config", help="TOML file of a configuration; several are compared.")
    ] = None,
    mode: Annotated[str, typer.Option("--mode", help="auto, fast or high; in place of a configuration.")] = "auto",
    samples: Annotated[int | None, typer.Option("--samples", min=1, max=32, help="Answers to vote on.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first so many questions.")] = None,
    judge: Judge = None,
    metric: Annotated[list[str] | None, typer.Option("--metric", help="Only these metrics.")] = None,
    parallel: Parallel = 4,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_seconds: MaxSeconds = None,
    max_cost: MaxCost = None,
    fail_if: FailIf = None,
    fail_if_worse_than: WorseThan = None,
    figure: FigureName = "correct",
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Ask every question of a set, and measure the answers. Killed, `candor eval resume` goes on with it.

    Exit code 1 if a --fail-if holds, or if questions are left over because a budget is reached.

    Example: candor eval run questions.jsonl -c papers --fail-if 'f1 < 0.7'
    """
    from api.cli.render.evaluations import astray_lines
    from api.services.evaluation_demands import demands_on
    from api.services.evaluations import begin, chosen_metrics, gold_astray, make_configuration, read_configuration
    from multi_agent.evaluation.draft_questions import DRAFT
    from multi_agent.evaluation.question_set import load_questions

    candor = make_candor(home)
    asked = load_questions(questions).limited(limit)
    metrics = chosen_metrics(metric or (), judged=judge is not None)
    demands = demands_on(candor, fail_if, fail_if_worse_than, figure, metrics=metrics, fingerprint=asked.fingerprint)
    if drafts := sum(DRAFT in each.tags for each in asked.questions):
        say(f"{drafts} of {len(asked.questions)} questions are drafts that nobody has confirmed (tag 'draft').")
    if config and (mode != "auto" or samples):
        raise UsageError("--mode and --samples stand in a configuration of --config, if there is one.")
    given = {"label": mode if samples is None else f"{mode}, {samples} samples", "mode": mode, "samples": samples}
    chosen = [read_configuration(candor, path) for path in config or ()] or [
        make_configuration(candor, given, "command line")
    ]
    name = candor.collection_name(collection)
    with candor.open_library(name):  # whether it is there
        for line in astray_lines(gold_astray(candor, name, asked.questions)):
            say(line)
        endpoint = "" if judge == "default" else judge
        results = [begin(candor, asked, name, each, metrics=tuple(metrics), judge=endpoint) for each in chosen]
    budget = {"model_calls": max_calls, "tokens": max_tokens, "seconds": max_seconds, "cost": max_cost}
    _carry_on(candor, results, parallel, budget, as_json)
    _conclude(candor, [each.evaluation.id for each in results], demands, as_json)


@app.command()
def resume(
    evaluation: Annotated[str, typer.Argument(help="The evaluation, or the beginning of its id.")],
    parallel: Parallel = 4,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    max_seconds: MaxSeconds = None,
    max_cost: MaxCost = None,
    fail_if: FailIf = None,
    fail_if_worse_than: WorseThan = None,
    figure: FigureName = "correct",
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Go on with an evaluation that was killed, or that reached its budget. What is finished is not asked again.

    Example: candor eval resume eval_3f2a
    """
    from api.services.evaluation_demands import demands_on
    from api.services.evaluations import chosen_metrics, store_of

    candor = make_candor(home)
    result = store_of(candor).get(evaluation)
    made = result.evaluation
    metrics = chosen_metrics(made.metrics, judged=made.judge_endpoint is not None)
    demands = demands_on(candor, fail_if, fail_if_worse_than, figure, metrics=metrics, fingerprint=made.fingerprint)
    budget = {"model_calls": max_calls, "tokens": max_tokens, "seconds": max_seconds, "cost": max_cost}
    _carry_on(candor, [result], parallel, budget, as_json)
    _conclude(candor, [result.evaluation.id], demands, as_json)


@app.command("list")
def list_evaluations(as_json: Json = False, home: Home = None) -> None:
    """List the evaluations, newest first.

    Example: candor eval
    """
    from api.services.evaluations import store_of

    found = store_of(make_candor(home)).list()
    columns = ("evaluation", "started (UTC)", "state", "set", "collection", "configuration")
    rows = [
        (each.id, f"{each.started_at:%Y-%m-%d %H:%M}", each.state, each.set_name, each.collection,
         each.configuration.label)
        for each in found
    ]  # fmt: skip
    show_list(found, columns, rows, as_json)


@app.command()
def show(
    evaluation: Annotated[str, typer.Argument(help="The evaluation, or the beginning of its id.")],
    by_tag: ByTag = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Show the figures of an evaluation.

    Example: candor eval show eval_3f2a
    """
    from api.services.evaluations import store_of
    from multi_agent.evaluation.summary import summarise

    result = store_of(make_candor(home)).get(evaluation)
    summary = summarise(result, by_tag=by_tag)
    if as_json:
        print_json({**plain(result), "summary": plain(summary)})
        return
    from api.cli.render.evaluations import show_summary

    show_summary(make_console(), result, summary)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(help="The evaluation that is compared with.")],
    second: Annotated[str, typer.Argument(help="The evaluation that is compared.")],
    by_tag: ByTag = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Compare two evaluations of the same questions, question by question.

    Example: candor eval compare eval_3f2a eval_9c01
    """
    from api.services.evaluations import store_of
    from multi_agent.evaluation.summary import against

    store = store_of(make_candor(home))
    one, other = store.get(first), store.get(second)
    comparison = against(one, other, by_tag=by_tag)
    if as_json:
        print_json(plain(comparison))
        return
    from api.cli.render.evaluations import show_comparison

    show_comparison(make_console(), one.evaluation, other.evaluation, comparison)


@app.command()
def report(
    evaluations: Annotated[list[str], typer.Argument(help="The evaluations; the others are compared with the first.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .html, .md or .json.")],
    viewer: Annotated[
        str, typer.Option("--viewer", help="Address of `candor serve`, to which each question's run is linked.")
    ] = "",
    by_tag: ByTag = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Write a report: figures with intervals, by tag, where answers went wrong, every question with its run.

    Example: candor eval report eval_3f2a eval_9c01 -o report.html
    """
    from api.services.evaluations import store_of
    from api.services.reports.report import Format, Report, write

    form = output.suffix.removeprefix(".")
    if form not in list(Format):
        raise UsageError(f"A report is a .{', a .'.join(Format)} file; {str(output)!r} is none of them.")
    store = store_of(make_candor(home))
    text = write(Report.of([store.get(each) for each in evaluations], by_tag=by_tag, viewer=viewer), Format(form))
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{str(output)!r} cannot be written: {error.strerror}.") from error
    tell_written(output, f"Wrote {output}.", as_json)


@app.command("rm")
def remove(
    evaluation: Annotated[str, typer.Argument(help="The evaluation to forget; its runs stay.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Forget an evaluation. Its runs stay.

    Example: candor eval rm eval_3f2a
    """
    from api.services.evaluations import store_of

    store = store_of(make_candor(home))
    found = store.get(evaluation).evaluation.id
    store.delete(found)
    if as_json:
        print_json({"removed": found})
    else:
        say(f"Forgot {found}.")


def _carry_on(
    candor: Candor, results: list[EvaluationResult], parallel: int, budget: dict[str, Any], as_json: bool
) -> None:
    from api.cli.render.evaluations import progress, unfinished_lines
    from api.services.evaluations import evaluate, store_of
    from multi_agent.settings import Budget

    for result in results:
        say(f"{result.evaluation.id}: {result.evaluation.configuration.label}, {len(result.questions)} questions")
    with progress(results, visible=not as_json) as tell:
        try:
            evaluate(candor, results, parallel=parallel, budget=Budget.model_validate(budget), tell=tell)
        except KeyboardInterrupt:
            for line in unfinished_lines([store_of(candor).get(result.evaluation.id) for result in results]):
                say(f"candor: {line}")
            raise


def _conclude(candor: Candor, ids: list[str], demands: Demands, as_json: bool) -> None:
    """Show what came out, and exit with 1 if it is not what was demanded."""
    from api.cli.render.evaluations import show_comparison, show_summary, unfinished_lines
    from api.services.evaluations import store_of
    from multi_agent.evaluation.summary import against, summarise

    store = store_of(candor)
    results = [store.get(each) for each in ids]
    summaries = [summarise(result) for result in results]
    comparisons = [against(results[0], other) for other in results[1:]]
    verdicts = [demands.held_against(result) for result in results]
    failures = [failure for summary in summaries for failure in demands.broken(summary)]
    failures += [each.said for each in verdicts if each.worse]
    failures += unfinished_lines(results)
    if as_json:
        evaluations = [
            {**plain(result), "summary": plain(summary)} for result, summary in zip(results, summaries, strict=True)
        ]
        print_json(
            {"evaluations": evaluations, "comparisons": [plain(each) for each in comparisons], "failures": failures}
        )
    else:
        console = make_console()
        for result, summary in zip(results, summaries, strict=True):
            show_summary(console, result, summary)
        for other, comparison in zip(results[1:], comparisons, strict=True):
            show_comparison(console, results[0].evaluation, other.evaluation, comparison)
    for said in [*failures, *(each.said for each in verdicts if each.said and not each.worse)]:
        say(f"candor: {said}")
    if failures:
        raise typer.Exit(1)

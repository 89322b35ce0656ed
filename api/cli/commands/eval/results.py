"""``candor eval list``, ``show``, ``compare``, ``report`` and ``rm``: stored evaluations."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Cli, command
from api.errors import UsageError

app = command()

EvaluationId = Annotated[str, typer.Argument(help="Evaluation id, or a unique prefix of it.")]
ByTag = Annotated[
    bool, typer.Option("--by-tag", help="Treat questions with the same tags as one cluster when computing intervals.")
]


@app.command("list")
def list_all(cli: Cli) -> None:
    """List the evaluations, newest first.

    Example: candor eval
    """
    found = cli.make_candor().evaluations.store.list()
    columns = ("evaluation", "started (UTC)", "state", "set", "collection", "configuration")
    cli.print_list(found, columns, lambda each: (
        each.id, f"{each.started_at:%Y-%m-%d %H:%M}", each.state, each.set_name, each.collection,
        each.configuration.label,
    ))  # fmt: skip


@app.command()
def show(cli: Cli, evaluation: EvaluationId, by_tag: ByTag = False) -> None:
    """Show the figures of an evaluation.

    Example: candor eval show eval_3f2a
    """
    from api.cli.render.evaluations import show_summary
    from multi_agent.evaluation.summary import summarize

    result = cli.make_candor().evaluations.store.get(evaluation)
    summary = summarize(result, by_tag=by_tag)
    cli.show({**result.model_dump(mode="json"), "summary": summary}, show_summary, result, summary)


@app.command()
def compare(
    cli: Cli,
    first: Annotated[str, typer.Argument(help="Baseline evaluation.")],
    second: Annotated[str, typer.Argument(help="Evaluation to compare with it.")],
    by_tag: ByTag = False,
) -> None:
    """Compare two evaluations question by question.

    Both must be of the same question set.

    Example: candor eval compare eval_3f2a eval_9c01
    """
    from api.cli.render.evaluations import show_comparison
    from multi_agent.evaluation.summary import compare_evaluations

    store = cli.make_candor().evaluations.store
    one, other = store.get(first), store.get(second)
    comparison = compare_evaluations(one, other, by_tag=by_tag)
    cli.show(comparison, show_comparison, one.evaluation, other.evaluation, comparison)


@app.command()
def report(
    cli: Cli,
    evaluations: Annotated[
        list[str], typer.Argument(help="Evaluation ids. All others are compared with the first one.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write: .html, .md or .json.")],
    viewer: Annotated[
        str, typer.Option("--viewer", help="URL of `candor serve`, to link each question to its run.")
    ] = "",
    by_tag: ByTag = False,
) -> None:
    """Write a report as HTML, Markdown or JSON.

    It contains figures with intervals, figures by tag, failures by cause, and all questions with their runs.

    Example: candor eval report eval_3f2a eval_9c01 -o report.html
    """
    from api.services.reports.report import Report, ReportFormat, render_report

    form = output.suffix.removeprefix(".")
    if form not in list(ReportFormat):
        raise UsageError(f"A report must be a .{', .'.join(ReportFormat)} file, not {str(output)!r}.")
    store = cli.make_candor().evaluations.store
    made = Report.create([store.get(each) for each in evaluations], by_tag=by_tag, viewer=viewer)
    cli.write(output, render_report(made, ReportFormat(form)))


@app.command("rm")
def remove(cli: Cli, evaluation: EvaluationId) -> None:
    """Delete an evaluation. Keeps its runs.

    Example: candor eval rm eval_3f2a
    """
    store = cli.make_candor().evaluations.store
    found = store.get(evaluation).evaluation.id
    store.delete(found)
    cli.print_result({"removed": found}, f"Deleted {found}.")

"""``candor demo`` and ``candor doctor``: the first steps."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Cli, command, print_json
from api.errors import UsageError

app = command()


@app.command()
def demo(
    cli: Cli,
    live: Annotated[bool, typer.Option("--live", help="Use your own model instead of the recording.")] = False,
    record: Annotated[
        Path | None, typer.Option("--record", help="With --live: write the model's responses to this file.")
    ] = None,
    question: Annotated[
        int | None, typer.Option("--question", min=1, max=3, help="Answer only the question with this number.")
    ] = None,
) -> None:
    """Answer three questions about the sample documents, and fill a table about them.

    Ingests them first. The model's responses come from a recording, so no model is needed.

    Example: candor demo
    """
    from api.cli.demo import run_demo

    if record and not live:
        raise UsageError("--record needs --live.")
    if record and question:
        raise UsageError("--record needs all questions; leave out --question.")
    result = run_demo(cli.home, live=live, record=record, only=question, progress=not cli.as_json)
    if cli.as_json:
        print_json(result)
    if any(answer.status.value == "failed" for answer in result.answers):
        raise typer.Exit(1)


@app.command()
def doctor(
    cli: Cli, settings: Annotated[bool, typer.Option("--settings", help="Also print the current settings.")] = False
) -> None:
    """Check the installation and print how to solve each problem.

    Checks the database, the store, the embedding model and the language models. Exit code 1 if a check fails. The
    output of --json always contains the settings.

    Example: candor doctor
    """
    from api.cli.render.diagnosis import show_diagnosis
    from api.jobs.queue import check_jobs

    candor = cli.make_candor(creates=True)
    diagnosis = candor.doctor.diagnose(check_jobs(candor.settings))
    cli.show(diagnosis, show_diagnosis, settings=settings)
    if not diagnosis.ok:
        raise typer.Exit(1)

"""``candor doctor``: check the installation and show the current settings."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, command, make_candor, make_console, print_json

app = command()


@app.command()
def doctor(
    settings: Annotated[bool, typer.Option("--settings", help="Also print the current settings.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Check the installation and print how to solve each problem.

    Checks the database, the store, the embedding model and the language models. Exit code 1 if a check fails. The
    output of --json always contains the settings.

    Example: candor doctor
    """
    diagnosis = make_candor(home).doctor.diagnose()
    if as_json:
        print_json(diagnosis)
    else:
        from api.cli.render.diagnosis import show_diagnosis

        show_diagnosis(make_console(), diagnosis, settings=settings)
    if not diagnosis.ok:
        raise typer.Exit(1)

"""``candor doctor``: the settings in force, and checks of the installation."""

from __future__ import annotations

import typer

from api.cli.common import Home, Json, command, make_candor, make_console, print_json

app = command()


@app.command()
def doctor(as_json: Json = False, home: Home = None) -> None:
    """Print the settings in force and check them.

    Checks the store, the embedding model and the language model. Exit code 1 if a check fails.

    Example: candor doctor
    """
    diagnosis = make_candor(home).doctor.diagnose()
    if as_json:
        print_json(diagnosis.model_dump(mode="json"))
    else:
        from api.cli.render.diagnosis import show_diagnosis

        show_diagnosis(make_console(), diagnosis)
    if not diagnosis.ok:
        raise typer.Exit(1)

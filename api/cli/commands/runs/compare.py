"""``candor compare``: compare two runs."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, RunId, command, make_candor, make_console, print_json
from api.cli.completion import complete_runs

app = command()


@app.command()
def compare(
    first: RunId,
    second: Annotated[str, typer.Argument(help="Another run, by id or prefix.", autocompletion=complete_runs)],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Compare the plans, queries, passages, evidence, claims, costs and times of two runs, and their first difference.

    `-` marks what only the first run has, `+` what only the second one has.

    Example: candor compare run_3f2a run_9c41
    """
    from api.auth.permissions import LOCAL_CALLER
    from api.cli.render.comparison import show_comparison
    from api.services.research.compare import compare_runs

    compared = compare_runs(make_candor(home).trace, first, second, LOCAL_CALLER)
    if as_json:
        print_json(compared)
    else:
        show_comparison(make_console(), compared)

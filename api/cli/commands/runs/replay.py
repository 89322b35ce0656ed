"""``candor replay``: repeat a run from its journal."""

from __future__ import annotations

import asyncio

import typer

from api.cli.common import Home, Json, RunId, command, make_candor, make_console, print_json

app = command()


@app.command()
def replay(run_id: RunId, as_json: Json = False, home: Home = None) -> None:
    """Repeat a run from its journal without a model, tools or the web, and compare the events.

    The documents are searched again, with the settings of the run. The first event that differs is shown with its
    cause: a prompt, a document, the index, or the code.

    Exit code 0 if all events are the same, apart from times; 1 if one differs.

    Example: candor replay run_3f2a
    """
    from api.auth.permissions import LOCAL_CALLER
    from api.cli.render.replay import show_replay
    from api.services.research.replay import replay_run

    candor = make_candor(home)
    result = asyncio.run(replay_run(candor.panel, candor.collections.open_library, run_id, LOCAL_CALLER))
    if as_json:
        print_json(result)
    else:
        show_replay(make_console(), result)
    if not result.same:
        raise typer.Exit(1)

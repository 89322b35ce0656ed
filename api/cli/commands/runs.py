"""``candor runs``: the latest runs."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, command, make_candor, print_list
from api.errors import UsageError

app = command()


@app.command()
def runs(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Number of runs.")] = 20,
    status: Annotated[
        list[str] | None, typer.Option("--status", help="Only runs with this status, e.g. failed. Repeatable.")
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Only runs over this collection.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="Only runs with this text in the question.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List the latest runs, newest first.

    Example: candor runs --status failed --collection papers
    """
    from multi_agent.storage.run_filter import RunFilter, RunState

    if unknown := [each for each in status or () if each not in list(RunState)]:
        raise UsageError(f"Unknown status {unknown[0]!r}. Choose from {', '.join(RunState)}.")
    states = tuple(map(RunState, status)) if status else None
    found = make_candor(home).trace.runs(limit, RunFilter(status=states, collection=collection, text=text))
    rows = [(run.run_id, run.status, f"{run.started_at:%Y-%m-%d %H:%M}", run.collection, run.question) for run in found]
    print_list(found, ("run", "status", "started (UTC)", "collection", "question"), rows, as_json)

"""``candor runs``: the latest runs, and the files that their tools wrote or downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import (
    Home,
    Json,
    RunId,
    command_group,
    make_candor,
    make_console,
    print_json,
    print_list,
    print_message,
)
from api.cli.completion import complete_collections
from api.errors import UsageError

if TYPE_CHECKING:
    pass

app = command_group("runs", "List runs and their files, and add a file to the collection.")


@app.command("list")
def list_all(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Number of runs.")] = 20,
    status: Annotated[
        list[str] | None, typer.Option("--status", help="Only runs with this status, e.g. failed. Repeatable.")
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option("--collection", "-c", help="Only runs over this collection.", autocompletion=complete_collections),
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="Only runs with this text in the question.")] = None,
    rating: Annotated[str | None, typer.Option("--rating", help="Only runs with this rating: up or down.")] = None,
    sort: Annotated[
        str,
        typer.Option("--sort", help="created: newest first. duration, tokens, cost, confidence: largest first."),
    ] = "created",
    after: Annotated[
        str | None, typer.Option("--after", help="Continue after this run, the last one of the list before.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List runs, newest first, with their duration, tokens, cost (with prices set) and confidence.

    Example: candor runs --status failed --collection papers --sort duration
    """
    from api.cli.render.runs import show_runs
    from multi_agent.storage.run_filter import Rating, RunFilter, RunSort, RunState

    if unknown := [each for each in status or () if each not in list(RunState)]:
        raise UsageError(f"Unknown status {unknown[0]!r}. Choose from {', '.join(RunState)}.")
    if rating and rating not in list(Rating):
        raise UsageError(f"Unknown rating {rating!r}. Choose from {', '.join(Rating)}.")
    if sort not in list(RunSort):
        raise UsageError(f"Unknown order {sort!r}. Choose from {', '.join(RunSort)}.")
    wanted = RunFilter(
        status=tuple(map(RunState, status)) if status else None,
        collection=collection,
        text=text,
        rating=Rating(rating) if rating else None,
        sort=RunSort(sort),
        after=after,
    )
    found = make_candor(home).trace.runs(limit, wanted)
    if as_json:
        print_json([run.model_dump(mode="json") for run in found])
    elif found:
        show_runs(make_console(), found)
    else:
        print_message("No runs match.")


@app.command()
def files(run: RunId, as_json: Json = False, home: Home = None) -> None:
    """List the files that tools wrote or downloaded in a run.

    Example: candor runs files run_3f2a
    """
    from api.auth.permissions import LOCAL_CALLER
    from api.services.catalog.tools import list_files

    candor = make_candor(home)
    found = list_files(candor.tools, candor.trace, run, LOCAL_CALLER)
    print_list(found, ("file", "bytes", "from"), [(each.name, each.size, each.url) for each in found], as_json)


@app.command()
def keep(
    run: RunId,
    name: Annotated[str, typer.Argument(help="Name of the file, from `candor runs files`.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Add a file of a run to the collection of the run, with the web address that it was downloaded from.

    Exit code 1 if the file cannot be ingested.

    Example: candor runs keep run_3f2a report.pdf
    """
    from api.auth.permissions import LOCAL_CALLER
    from api.cli.ingest import exit_code, run_ingest
    from api.services.documents.kept_files import keep_file

    candor = make_candor(home)
    spec = keep_file(candor.tools, candor.trace, candor.uploads, candor.keys, run, name, LOCAL_CALLER)
    report = run_ingest(candor, [Path(path) for path in spec.paths], spec.collection, progress=not as_json)
    if as_json:
        print_json(report.model_dump(mode="json"))
    if code := exit_code(report):
        raise typer.Exit(code)

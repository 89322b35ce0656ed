"""``candor ingest``: read documents into a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Home, Json, command, make_candor, print_json
from api.cli.completion import complete_collections
from api.errors import UsageError

app = command()


@app.command()
def ingest(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files, or folders to read recursively.", show_default=False)
    ] = None,
    collection: Annotated[
        str, typer.Option("--collection", "-c", help="Collection to add to.", autocompletion=complete_collections)
    ] = "documents",
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Retry failed files even if they have not changed. Without paths, all of the collection.",
        ),
    ] = False,
    sync: Annotated[bool, typer.Option("--sync", help="Also remove documents whose files no longer exist.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running, and ingest again after every change. Stop with Ctrl-C.")
    ] = False,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", help="Add this tag to all documents, including unchanged ones. Repeatable."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    ocr: Annotated[
        str | None, typer.Option("--ocr", help="Recognize text in page images: auto, always or never.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Read documents into a collection.

    Skips unchanged files and replaces changed ones. If a file fails, the others are still ingested, and the exit code
    is 1. Restores documents that the vector store has lost. Ctrl-C stops within seconds (exit code 130). Run the same
    command again to continue.

        Example: candor ingest ~/papers --collection papers
    """
    from api.cli.ingest import exit_code, run_dry, run_ingest, run_watch

    if not paths and not retry_failed:
        raise UsageError("Nothing to ingest. Name files or folders, or use --retry-failed.")
    if (sync or watch) and not paths:
        raise UsageError("--sync and --watch need files or folders.")
    if watch and (as_json or dry_run):
        raise UsageError("--watch cannot be combined with --json or --dry-run.")
    candor = make_candor(home, **({"ingest": {"ocr": ocr}} if ocr else {}))
    names, given = tuple(tags or ()), paths or []
    if dry_run:
        plan = run_dry(
            candor, given, collection, retry_failed=retry_failed, sync=sync, tags=names, progress=not as_json
        )
        if as_json:
            print_json(plan)
        return
    if watch:
        run_watch(candor, given, collection, retry_failed=retry_failed, sync=sync, tags=names)
        return
    report = run_ingest(
        candor, given, collection, retry_failed=retry_failed, sync=sync, tags=names, progress=not as_json
    )
    if as_json:
        print_json(report)
    if code := exit_code(report):
        raise typer.Exit(code)

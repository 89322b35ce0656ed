"""``candor runs``: past runs, and the files that their tools wrote or downloaded."""

from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from api.cli.common import (
    Cli,
    Now,
    RunId,
    collection_option,
    command_group,
    deleted,
    make_console,
    print_json,
    print_message,
)
from api.cli.given import valid_request
from api.errors import UsageError

app = command_group("runs", "List, resume, cancel, export, import and delete runs, and list and keep their files.")


@app.command("list")
def list_all(
    cli: Cli,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Number of runs.")] = 20,
    status: Annotated[
        list[str] | None, typer.Option("--status", help="Only runs with this status, e.g. failed. Repeatable.")
    ] = None,
    collection: Annotated[str | None, collection_option("Only runs over this collection.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Only runs with this text in the question.")] = None,
    rating: Annotated[str | None, typer.Option("--rating", help="Only runs with this rating: up or down.")] = None,
    sort: Annotated[
        str,
        typer.Option("--sort", help="created (newest first), or duration, tokens, cost or confidence (largest first)."),
    ] = "created",
    after: Annotated[
        str | None, typer.Option("--after", help="Continue after this run, the last one of the previous list.")
    ] = None,
) -> None:
    """List runs, newest first, with their duration, tokens, cost (if prices are set), confidence and size.

    Example: candor runs --status failed --collection papers --sort duration
    """
    from api.cli.render.runs import show_runs
    from base.counts import count
    from multi_agent.storage.run_filter import RunFilter

    wanted = valid_request(
        RunFilter, status=status or None, collection=collection, text=text, rating=rating, sort=sort, after=after
    )
    candor = cli.make_candor()
    found = candor.trace.runs(limit, wanted)
    if cli.as_json:
        print_json(found)
    elif found:
        show_runs(make_console(), found)
        stored = candor.archive.usage()
        print_message(f"{count(stored.runs, 'run')} in all, {decimal(stored.bytes)}.")
    else:
        print_message("No runs match.")


@app.command()
def files(cli: Cli, run: RunId) -> None:
    """List the files that tools wrote or downloaded in a run.

    Example: candor runs files run_3f2a
    """
    from api.services.catalog.tools import list_files

    candor = cli.make_candor()
    found = list_files(candor.tools, candor.trace, run, cli.caller)
    cli.print_list(found, ("file", "bytes", "from"), lambda each: (each.name, each.size, each.url))


@app.command()
def keep(
    cli: Cli, run: RunId, name: Annotated[str, typer.Argument(help="Name of the file, from `candor runs files`.")]
) -> None:
    """Add a file of a run to the collection of the run. The document records the URL of a downloaded file.

    Exit code 1 if the file cannot be ingested.

    Example: candor runs keep run_3f2a report.pdf
    """
    from api.cli.ingest import run_and_end
    from api.services.documents.kept_files import keep_file

    candor = cli.make_candor()
    spec = keep_file(candor.tools, candor.trace, candor.collections, candor.keys, run, name, cli.caller)
    run_and_end(cli, candor, spec)


@app.command()
def export(
    cli: Cli,
    run: RunId,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    texts: Annotated[
        bool,
        typer.Option(
            "--with-texts/--without-texts",
            help="With prompts, responses, quotes and results of tools; or only question, plans, queries and figures.",
        ),
    ] = True,
) -> None:
    """Export a whole run as one file, for `candor runs import`. `candor export` exports an answer.

    Example: candor runs export run_3f2a -o run.candor --without-texts
    """
    from api.services.exports.run_file import write_run
    from multi_agent.storage.recording import load_recording

    candor = cli.make_candor()
    cli.write(output, write_run(load_recording(candor.trace, candor.tools.calls, run), texts=texts))


@app.command("import")
def import_file(
    cli: Cli,
    file: Annotated[Path, typer.Argument(help="File of `candor runs export`.")],
    collection: Annotated[
        str | None, collection_option("List the run under this collection. Default: that of the file.")
    ] = None,
) -> None:
    """Add an exported run to this data folder, with its events and quotes. Its documents are not part of it.

    Example: candor runs import run.candor
    """
    from api.services.exports.run_file import LARGEST_FILE

    try:
        with file.open("rb") as opened:
            content = opened.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {str(file)!r}: {error.strerror}.") from error
    candor = cli.make_candor(creates=True)
    imported = candor.run_import.add(cli.caller, content, collection)
    cli.print_result(imported, f"Added {imported.run_id}. `candor trace {imported.run_id}` shows it.")


@app.command()
def resume(cli: Cli, run: RunId) -> None:
    """Continue a run of a command whose process was killed. Responses of models that arrived are not paid twice.

    Exit code 1 if the run fails, 130 if it is cancelled.

    Example: candor runs resume run_3f2a
    """
    from api.cli.ask.run import resume_run, show_and_end

    candor = cli.make_candor()
    show_and_end(cli, resume_run(candor, run, progress=not cli.as_json))


@app.command()
def cancel(cli: Cli, run: RunId) -> None:
    """Cancel a run of a command in another process, or an interrupted one. A run that has ended stays unchanged.

    Example: candor runs cancel run_3f2a
    """
    candor = cli.make_candor()
    found = candor.command_runs.cancel(candor.trace, candor.trace.run(run))
    cli.print_result(found, f"Run {found.run_id} is {found.status}.")


@app.command("rm")
def remove(cli: Cli, run: RunId, now: Now = False) -> None:
    """Move a run that has ended to the bin.

    Example: candor runs rm run_3f2a
    """
    candor = cli.make_candor()
    found = candor.pruning.one(candor.trace.run(run))
    candor.bin.delete_runs([found], now=now)
    cli.print_result({"removed": found.run_id}, deleted(candor, found.run_id, now=now))


@app.command()
def prune(
    cli: Cli,
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Delete runs older than 90d, 12w or 2y.")
    ] = None,
    keep_newest: Annotated[int | None, typer.Option("--keep", min=0, help="Keep only this many of the newest.")] = None,
    max_bytes: Annotated[
        str | None, typer.Option("--max-bytes", help="Keep only the newest ones up to this size, such as 1GB.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete them. Otherwise, only list them.")] = False,
    now: Now = False,
) -> None:
    """List the runs that break a limit. --yes moves them to the bin, --yes --now deletes them permanently.

    Keeps rated runs, runs of evaluations, runs that have not ended, and the earlier runs that a kept run continues or
    was forked from. The audit log records each deleted run.

    Example: candor runs prune --older-than 90d --keep 1000 --yes
    """
    from api.services.research.prune import Limits, parse_age, parse_size
    from base.counts import count

    if older_than is None and keep_newest is None and max_bytes is None:
        raise UsageError("Name a limit: --older-than, --keep or --max-bytes.")
    limits = Limits(
        older_than_days=parse_age(older_than) if older_than else None,
        keep=keep_newest,
        max_bytes=parse_size(max_bytes) if max_bytes else None,
    )
    candor = cli.make_candor()
    found = candor.pruning.find(limits)
    size = sum(run.size for run in found)
    if yes:
        candor.bin.delete_runs(found, now=now)
    if cli.as_json:
        print_json({"deleted": yes, "bytes": size, "runs": found})
        return
    cli.print_list(found, ("run", "started", "bytes", "question"), lambda run: (
        run.run_id, f"{run.started_at:%Y-%m-%d}", f"{run.size:,}", run.question[:60],
    ))  # fmt: skip
    if yes:
        print_message(deleted(candor, f"{count(len(found), 'run')} with {decimal(size)}", now=now))
    else:
        more = " Add --yes to delete them." if found else ""
        print_message(f"Would delete {count(len(found), 'run')} with {decimal(size)}.{more}")

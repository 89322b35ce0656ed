"""``candor sources``: sites, repositories, mail, remote folders and services whose documents a collection has."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.common import (
    Cli,
    CollectionOption,
    Details,
    Exclude,
    Include,
    Yes,
    collection_option,
    command_group,
    confirm,
    print_json,
    print_message,
)
from api.cli.given import read_data
from base.counts import count

if TYPE_CHECKING:
    from ingest.pipeline.tally import IngestReport

app = command_group("sources", "Read sites, repositories, mail, remote folders and services into collections.")

In = Annotated[str, collection_option("Collection.")]


@app.command("list")
def list_all(cli: Cli, collection: CollectionOption = None) -> None:
    """List the sources with the state, the end and the errors of the last sync.

    Example: candor sources
    """
    found = cli.make_candor().sources.table.list(collection)
    columns = ("collection", "source", "address", "state", "documents", "last sync", "next sync", "error")
    cli.print_list(found, columns, lambda each: (
        each.collection, each.name, each.address, each.state.value, each.documents,
        str(each.synced_at or "")[:16], str(each.next_sync or "")[:16], each.error,
    ))  # fmt: skip


@app.command()
def add(
    cli: Cli,
    address: Annotated[
        str,
        typer.Argument(
            help="Page, sitemap or feed (https://…); Git repository (git+https://…); folder of mail (imaps://…); "
            "folder that fsspec opens (s3://…); or llama_index:MODULE.CLASS."
        ),
    ],
    collection: In = "documents",
    name: Annotated[str, typer.Option("--name", help="Name of the source. Default: made from the address.")] = "",
    depth: Annotated[
        int | None, typer.Option("--depth", help="Of a site: links to follow from the address (2). 0: only the page.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Of a site: maximum number of pages (500).")] = None,
    ref: Annotated[
        str | None, typer.Option("--ref", help="Of a repository: branch, tag or full commit id. Default: its branch.")
    ] = None,
    every: Annotated[
        str, typer.Option("--every", help="How often a running service syncs it: 30m, 1h or 7d. Default: never.")
    ] = "",
    options: Annotated[
        Path | None,
        typer.Option("--options", help="TOML file with arguments of the source, such as endpoint, token or folder."),
    ] = None,
    exclude: Exclude = None,
    include: Include = None,
) -> None:
    """Add a source to a collection, or change the options of one. `candor sources sync` reads it.

    Example: candor sources add https://example.org/handbook/ --collection handbook
    """
    from ingest.ledger.sources import SourceRecord

    given = {"depth": depth, "limit": limit, "ref": ref}
    source = SourceRecord(
        collection=collection,
        name=name,
        address=address,
        options=(read_data(options) if options else {})
        | {key: value for key, value in given.items() if value is not None},
        exclude=tuple(exclude or ()),
        include=tuple(include or ()),
        every=every,
    )
    candor = cli.make_candor(creates=True)
    candor.collections.require_kept(collection)
    added = candor.sources.add(source)
    message = f"Added {added.name}. `candor sources sync {added.name} -c {collection}` reads it."
    cli.print_result(added, message)


@app.command()
def sync(
    cli: Cli,
    names: Annotated[list[str] | None, typer.Argument(help="Sources. Default: all.", show_default=False)] = None,
    collection: In = "documents",
    details: Details = False,
) -> None:
    """Read what is new or has changed in sources, and remove what they no longer have.

    Exit code 1 if a source or one of its documents cannot be read; the others are read.

    Example: candor sources sync -c handbook
    """
    from api.cli.ingest import exit_code, run_request
    from ingest.errors import SourceFailed
    from ingest.pipeline.plan import IngestRequest

    candor, code = cli.make_candor(), 0
    reports: list[IngestReport | dict[str, Any]] = []
    known = [candor.sources.find(collection, name) for name in names or ()] or candor.sources.table.list(collection)
    for name in (each.name for each in known):
        try:
            request = IngestRequest(collection=collection, source=name)
            report = run_request(candor, request, progress=not cli.as_json, details=details)
            reports.append(report)
            code = max(code, exit_code(report))
            if report.cancelled:
                break
        except SourceFailed as error:
            reports.append({"source": name, "error": {"type": type(error).__name__, "message": str(error)}})
            print_message(f"candor: {error}")
            code = 1
    if cli.as_json:
        print_json(reports)
    elif not known:
        print_message(f"Collection {collection!r} has no source. `candor sources add` adds one.")
    if code:
        raise typer.Exit(code)


@app.command()
def remove(
    cli: Cli, name: Annotated[str, typer.Argument(help="Source.")], collection: In = "documents", yes: Yes = False
) -> None:
    """Remove a source and its documents.

    Example: candor sources remove example-org-handbook -c handbook
    """
    from vectorstore.errors import CollectionNotFound

    candor = cli.make_candor()
    source = candor.sources.find(collection, name)
    confirm(f"Remove the source {name!r} and its {count(source.documents, 'document')}?", yes=yes)
    try:
        with candor.collections.change(collection) as opened:
            removed = candor.sources.remove(source, opened)
    except CollectionNotFound:  # it was never synced
        removed = candor.sources.remove(source, None)
    cli.print_result({"removed": name, "documents": removed}, f"Removed {name} and {count(removed, 'document')}.")

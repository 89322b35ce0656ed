"""``candor ingest``, ``adopt`` and ``drop``: read files into a collection, take it over, delete it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from api.cli.common import Cli, Details, Exclude, Include, Now, Yes, collection_option, command, confirm, deleted
from api.cli.completion import complete_collections
from api.errors import UsageError

app = command()


@app.command()
def ingest(
    cli: Cli,
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders to read recursively, or web addresses.", show_default=False),
    ] = None,
    collection: Annotated[
        str | None,
        collection_option(
            "Collection to add to. Default: named after the folder, as in `candor ask`; `documents` for files and web "
            "addresses."
        ),
    ] = None,
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
    meta: Annotated[
        list[str] | None,
        typer.Option("--meta", metavar="NAME=VALUE", help="Set this metadata for all documents. No value: remove it."),
    ] = None,
    exclude: Exclude = None,
    include: Include = None,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Follow links that lead out of their folder.")
    ] = False,
    details: Details = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    ocr: Annotated[
        str | None, typer.Option("--ocr", help="Recognize text in page images: auto, always or never.")
    ] = None,
) -> None:
    """Read documents into a collection.

    Skips unchanged files and replaces changed ones. If a file fails, the others are still ingested, and the exit code
    is 1. Restores documents that the vector store has lost. Ctrl-C stops within seconds (exit code 130). Run the same
    command again to continue.

    Leaves out hidden files, folders of package managers and caches, keys and secrets, links that lead out of a folder,
    and what a `.candorignore` or, in a Git repository, a `.gitignore` names. --dry-run shows what each rule leaves out.

    A file `metadata.csv` in a folder describes the others: the first column names the file, the other columns are
    metadata. Metadata is also read from the front matter of notes and from properties of files.

    A web address is fetched again only if the page has changed. `candor sources` reads whole sites, feeds and others.

        Example: candor ingest ~/papers https://example.org/a.html --collection papers
    """
    from api.cli.ask.folder import choose_collection
    from api.cli.ingest import planned, run_and_end, run_watch
    from api.services.documents.selection import named_values
    from api.services.documents.sources import is_web_address
    from ingest.pipeline.plan import IngestRequest

    urls = tuple(filter(is_web_address, paths or ()))
    if urls and (sync or watch):
        raise UsageError("--sync and --watch need files or folders. `candor sources add` follows a web address.")
    if not paths and not retry_failed:
        raise UsageError("Nothing to ingest. Name files or folders, or use --retry-failed.")
    if (sync or watch) and not paths:
        raise UsageError("--sync and --watch need files or folders.")
    if watch and (cli.as_json or dry_run):
        raise UsageError("--watch cannot be combined with --json or --dry-run.")
    overrides: dict[str, Any] = {"ingest": {"ocr": ocr}} if ocr else {}
    candor = cli.make_candor(creates=True, **overrides)
    files = [path for path in paths or () if path not in urls]
    request = IngestRequest(
        collection=collection or choose_collection(candor, [Path(path) for path in files or urls]),
        paths=tuple(map(Path, files)),
        retry_failed=retry_failed, sync=sync, tags=tuple(tags or ()), meta=named_values(meta or ()), urls=urls,
        exclude=tuple(exclude or ()), include=tuple(include or ()), follow_links=follow_links,
    )  # fmt: skip
    if watch:
        run_watch(candor, request, details=details)
        return
    if dry_run:
        plan = candor.ingest.plan(request)
        cli.print_result(plan, "\n".join(planned(plan, details=details)))
        return
    run_and_end(cli, candor, request, details=details)


@app.command()
def adopt(
    cli: Cli,
    collection: Annotated[str, typer.Argument(help="Collection to adopt.", autocompletion=complete_collections)],
    yes: Yes = False,
) -> None:
    """Make the current database the owner of a collection on a Qdrant server.

    Only the owner can change a collection. Use this if the database of the owner is lost, then ingest the files again:
    passages that the collection already has are not embedded again.

    Example: candor adopt papers
    """
    confirm(f"Make this database the owner of {collection!r}? Its former database can no longer change it.", yes=yes)
    cli.make_candor(creates=True).collections.adopt(collection)
    cli.print_result({"adopted": collection}, f"{collection} belongs to this database.")


@app.command()
def collections(cli: Cli) -> None:
    """List the collections with the number of their documents and passages.

    Example: candor collections
    """
    from api.cli.render.documents import show_collections

    cli.show(list(cli.make_candor().collections.overview()), show_collections)


@app.command()
def drop(
    cli: Cli,
    collection: Annotated[str, typer.Argument(help="Collection to delete.", autocompletion=complete_collections)],
    now: Now = False,
    yes: Yes = False,
) -> None:
    """Move a collection and its documents to the bin. The original files and past runs are kept.

    Example: candor drop papers
    """
    candor = cli.make_candor()
    candor.collections.require_known(collection)
    confirm(f"Delete the collection {collection!r}?", yes=yes)
    candor.bin.delete_collection(collection, now=now)
    cli.print_result({"dropped": collection}, deleted(candor, collection, now=now))

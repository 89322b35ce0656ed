"""Commands about documents and collections: ingest, search, documents, show, drop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import (
    CollectionOption,
    Home,
    Json,
    listing,
    make_candor,
    make_console,
    not_empty,
    print_json,
    say,
)
from api.errors import UsageError

app = typer.Typer(rich_markup_mode=None)


@app.command()
def ingest(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Files, or folders with all that is in them.", show_default=False)
    ] = None,
    collection: Annotated[str, typer.Option("--collection", "-c", help="Where the documents go.")] = "documents",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed files again though they have not changed.")
    ] = False,
    sync: Annotated[bool, typer.Option("--sync", help="Remove documents whose files are gone from the paths.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Ingest, then again whenever something changes.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
    ocr: Annotated[
        str | None, typer.Option("--ocr", help="Recognise the text of page images: auto, always or never.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Read documents into a collection.

    Unchanged files are skipped, changed ones replaced. Exit code 1 if any file failed; the others are in.

    Example: candor ingest ~/papers --collection papers
    """
    from api.cli.ingest import run_dry, run_ingest, run_watch

    if not paths and not retry_failed:
        raise UsageError("What is to be ingested? Name files or folders, or use --retry-failed.")
    if (sync or watch) and not paths:
        raise UsageError("--sync and --watch need the folders that they are about.")
    if watch and (as_json or dry_run):
        raise UsageError("--watch goes on until you end it; --json and --dry-run do not go with it.")
    candor = make_candor(home, **({"ingest": {"ocr": ocr}} if ocr else {}))
    if dry_run:
        plan = run_dry(candor, paths or [], collection, retry_failed=retry_failed, sync=sync, progress=not as_json)
        if as_json:
            print_json(plan.model_dump(mode="json"))
        return
    if watch:
        run_watch(candor, paths or [], collection, retry_failed=retry_failed, sync=sync)
        return
    report = run_ingest(candor, paths or [], collection, retry_failed=retry_failed, sync=sync, progress=not as_json)
    if as_json:
        print_json(report.model_dump(mode="json"))
    if report.failed:
        raise typer.Exit(1)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="Words, or a question.")],
    collection: CollectionOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Passages to show.")] = 10,
    timings: Annotated[bool, typer.Option("--timings", help="Print where the time went, to standard error.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Find passages by words and by meaning, without a language model.

    Example: candor search "heat pump efficiency" --collection papers
    """
    from api.services.search import run_search

    hits, spent = run_search(make_candor(home), not_empty(query, "query"), collection, limit)
    if as_json:
        print_json([{"score": hit.score, **hit.chunk.model_dump(mode="json")} for hit in hits])
    else:
        from api.cli.render.terminal import show_hits

        show_hits(make_console(), hits)
    if timings:
        say(" · ".join(f"{name} {seconds:.2f} s" for name, seconds in spent.items()))


documents_app = listing("List the documents of a collection, and take some out.")
app.add_typer(documents_app, name="documents")


@documents_app.command("list")
def list_them(
    collection: CollectionOption = None,
    state: Annotated[str | None, typer.Option("--state", help="Only those in this state, such as failed.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List the documents of a collection with their states, and why some failed.

    Example: candor documents --collection papers --state failed
    """
    from api.services.documents import list_documents

    found = list_documents(make_candor(home), collection, state)
    if as_json:
        print_json([document.model_dump(mode="json") for document in found])
        return
    from api.cli.render.terminal import show_documents

    show_documents(make_console(), found)


@documents_app.command("rm")
def remove(
    document: Annotated[str, typer.Argument(help="Its id or the beginning of it, its path, or its name.")],
    collection: CollectionOption = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Take a document out of its collection. Its file stays, and is read in again if it is ingested again.

    Example: candor documents rm report.pdf
    """
    from api.services.documents import remove_document

    removed = remove_document(make_candor(home), document, collection)
    if as_json:
        print_json({"removed": removed.id, "name": removed.name, "chunks": removed.chunks})
    else:
        say(f"Removed {removed.name} ({removed.chunks} passages).")


@app.command()
def show(
    document: Annotated[str, typer.Argument(help="Its id or the beginning of it, its path, or its name.")],
    text: Annotated[bool, typer.Option("--text", help="The parsed text, into which all spans point.")] = False,
    collection: CollectionOption = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Show what is known of a document, or its parsed text.

    Example: candor show report.pdf --text
    """
    from api.services.documents import find_document

    candor = make_candor(home)
    found = find_document(candor, document, collection)
    parsed = candor.ledger.text(found.collection, found.id).text if text else None
    if as_json:
        print_json(found.model_dump(mode="json") | ({"text": parsed} if text else {}))
    elif parsed is not None:
        sys.stdout.write(parsed)
    else:
        from api.cli.render.terminal import show_document

        show_document(make_console(), found)


@app.command()
def drop(
    collection: Annotated[str, typer.Argument(help="The collection to delete.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Delete a collection and what is known of its documents. The files themselves and past runs stay.

    Example: candor drop papers
    """
    if not yes:
        typer.confirm(f"Delete the collection {collection!r}?", abort=True, err=True)
    make_candor(home).drop(collection)
    if as_json:
        print_json({"dropped": collection})
    else:
        say(f"Deleted {collection}.")

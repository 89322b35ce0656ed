"""``candor documents``: list, tag, compare and remove the documents of a collection."""

from typing import Annotated

import typer

from api.cli.common import (
    Cli,
    CollectionOption,
    CollectionsOption,
    DocumentName,
    Now,
    command_group,
    deleted,
    make_console,
    print_json,
    print_message,
    selection,
)
from base.counts import count

_SHOWN = 1_000  # documents, because a table of many takes seconds

app = command_group("documents", "List, tag, compare or remove the documents of a collection.")


@app.command("list")
def list_all(
    cli: Cli,
    collection: CollectionOption = None,
    state: Annotated[str | None, typer.Option("--state", help="Only documents in this state, e.g. failed.")] = None,
    warnings: Annotated[bool, typer.Option("--warnings", help="Only documents that were read with warnings.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="Number of documents. Default: 1,000; all with --json.")
    ] = None,
) -> None:
    """List the documents of a collection by name, with their states, types, tags and reasons for failures.

    `--warnings` adds what was not read, or read by a guess.

    Example: candor documents --collection papers --state failed
    """
    documents = cli.make_candor().documents
    if cli.as_json:
        found = documents.list(collection, state, limit=limit, warned=warnings)
        print_json(found)
        return
    from api.cli.render.documents import show_documents

    shown = limit or _SHOWN
    found = documents.list(collection, state, limit=shown + 1, warned=warnings)
    show_documents(make_console(), found[:shown], with_warnings=warnings)
    if len(found) > shown:
        print_message(f"There are more than {count(shown, 'document')}. Use --limit or --state to see others.")


@app.command("tag")
def tag(
    cli: Cli,
    document: DocumentName,
    add: Annotated[list[str] | None, typer.Option("--add", help="Tag to add. Repeatable.")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="Tag to remove. Repeatable.")] = None,
    collection: CollectionOption = None,
) -> None:
    """Add or remove tags of a document. The document is not read or embedded again.

    Tags are in lower case and contain no commas. The option `--tag` of `candor search` and `candor ask` selects
    documents by tag.

    Example: candor documents tag report.pdf --add taxes --add 2024 --remove draft
    """
    changed = cli.make_candor().documents.tag(document, collection, add=add or (), remove=remove or ())
    cli.print_result(changed, f"{changed.name}: {', '.join(changed.tags) or 'no tags'}")


@app.command("compare", shares={"model"})
def compare(
    cli: Cli,
    old: DocumentName,
    new: Annotated[
        str | None,
        typer.Argument(
            help="The document to compare it with, such as its next version. Without it, the first one is compared "
            "with the version before it.",
            show_default=False,
        ),
    ] = None,
    collection: CollectionsOption = None,
    meaning: Annotated[
        bool, typer.Option("--meaning", help="Ask the model what the changes mean. It reads only them.")
    ] = False,
) -> None:
    """Compare two documents section by section. Only --meaning uses a model.

    Shows the sections that were added, removed, changed or moved, with the sentences and table rows that differ, and
    the numbers that changed. In several collections, a name may begin with its collection.

    Examples: candor documents compare contract-2023.docx contract-2024.docx -c contracts; candor documents compare
    contract-2024.docx (changed since the version before)
    """
    candor, within = cli.make_candor(), selection(collection)
    if new is None:
        new, document = old, candor.documents.find(old, within)
        with candor.collections.open_library(document.collection) as library:
            old = candor.documents.version_before(document, library).id
    differences = candor.documents.compare(old, new, within)
    from api.cli.render.documents import show_differences, show_meanings

    if not cli.as_json:
        show_differences(make_console(), differences)
    if meaning or cli.model:
        import asyncio

        if not cli.as_json:
            print_message("The model reads the changes …")
        differences = asyncio.run(candor.meanings.add(differences, cli.caller, cli.model))
        if not cli.as_json:
            show_meanings(make_console(), differences)
    if cli.as_json:
        print_json(differences)


@app.command("rm")
def remove(
    cli: Cli,
    document: DocumentName,
    collection: CollectionOption = None,
    now: Now = False,
) -> None:
    """Move a document to the bin. A file that was not uploaded stays where it is, and can be ingested again.

    Searches and answers no longer see its text. Files keep it until `candor documents purge` or `candor drop`, after
    the document has left the bin.

    Example: candor documents rm report.pdf
    """
    candor = cli.make_candor()
    removed = candor.documents.find(document, collection)
    candor.bin.delete_document(removed, now=now)
    cli.print_result(
        {"removed": removed.id, "name": removed.name, "chunks": removed.chunks},
        deleted(candor, f"{removed.name} ({count(removed.chunks, 'passage')})", now=now),
    )


@app.command("purge")
def purge(cli: Cli, collection: CollectionOption = None) -> None:
    """Delete the text of removed and replaced documents from the files of a collection and from the database.

    Documents in the bin keep their text: `candor bin empty` removes it first. The other passages are copied, which
    takes as much free disk as the collection. Runs, tables and backups that quote a document keep the quotes;
    `candor runs prune` deletes runs.

    Example: candor documents purge --collection papers
    """
    collections = cli.make_candor().collections
    name = collections.resolve(collection)
    kept = collections.purge(name)
    cli.print_result({"collection": name, "kept": kept}, f"Purged {name}; {count(kept, 'passage')} kept.")

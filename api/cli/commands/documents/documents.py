"""``candor documents``: list, tag, compare and remove the documents of a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import (
    CollectionOption,
    CollectionsOption,
    Home,
    Json,
    command_group,
    make_candor,
    make_console,
    print_json,
    print_message,
    print_result,
    selection,
)
from base.counts import count

_SHOWN = 1_000  # documents, because a table of many takes seconds

app = command_group("documents", "List, tag, compare or remove the documents of a collection.")


@app.command("list")
def list_all(
    collection: CollectionOption = None,
    state: Annotated[str | None, typer.Option("--state", help="Only documents in this state, e.g. failed.")] = None,
    warnings: Annotated[bool, typer.Option("--warnings", help="Only documents that were read with warnings.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="Number of documents. Default: 1,000; all with --json.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List the documents of a collection by name, with their states, types, tags and reasons for failures.

    `--warnings` adds what was not read, or read by a guess.

    Example: candor documents --collection papers --state failed
    """
    documents = make_candor(home).documents
    if as_json:
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
    document: Annotated[str, typer.Argument(help="Document id or a prefix of it, path, or name.")],
    add: Annotated[list[str] | None, typer.Option("--add", help="Tag to add. Repeatable.")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="Tag to remove. Repeatable.")] = None,
    collection: CollectionOption = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Add or remove tags of a document. The document is not read or embedded again.

    Tags are in lower case and contain no commas. The option `--tag` of `candor search` and `candor ask` selects
    documents by tag.

    Example: candor documents tag report.pdf --add taxes --add 2024 --remove draft
    """
    changed = make_candor(home).documents.tag(document, collection, add=add or (), remove=remove or ())
    print_result(changed, f"{changed.name}: {', '.join(changed.tags) or 'no tags'}", as_json)


@app.command("compare")
def compare(
    old: Annotated[str, typer.Argument(help="Document id or a prefix of it, path, or name.")],
    new: Annotated[
        str | None,
        typer.Argument(
            help="The document to compare it with, such as its next version. Without it, the first one is compared "
            "with the version before it.",
            show_default=False,
        ),
    ] = None,
    collection: CollectionsOption = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Compare two documents section by section, without a model.

    Shows the sections that were added, removed, changed or moved, with the sentences and table rows that differ, and
    the numbers that changed. In several collections, a name may begin with its collection.

    Examples: candor documents compare contract-2023.docx contract-2024.docx -c contracts; candor documents compare
    contract-2024.docx (changed since the version before)
    """
    candor, within = make_candor(home), selection(collection)
    if new is None:
        new, document = old, candor.documents.find(old, within)
        with candor.collections.open_library(document.collection) as library:
            old = candor.documents.version_before(document, library).id
    differences = candor.documents.compare(old, new, within)
    if as_json:
        print_json(differences)
        return
    from api.cli.render.documents import show_differences

    show_differences(make_console(), differences)


@app.command("rm")
def remove(
    document: Annotated[str, typer.Argument(help="Document id or a prefix of it, path, or name.")],
    collection: CollectionOption = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Remove a document from its collection. The file is kept and can be ingested again.

    Example: candor documents rm report.pdf
    """
    removed = make_candor(home).documents.remove(document, collection)
    print_result(
        {"removed": removed.id, "name": removed.name, "chunks": removed.chunks},
        f"Removed {removed.name} ({count(removed.chunks, 'passage')}).",
        as_json,
    )

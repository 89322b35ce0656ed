"""``candor documents``: list and remove the documents of a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import (
    CollectionOption,
    Home,
    Json,
    command_group,
    make_candor,
    make_console,
    print_json,
    print_message,
)
from vectorstore.text.counts import count

app = command_group("documents", "List or remove the documents of a collection.")


@app.command("list")
def list_all(
    collection: CollectionOption = None,
    state: Annotated[str | None, typer.Option("--state", help="Only documents in this state, e.g. failed.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List the documents of a collection with their states and the reasons for failures.

    Example: candor documents --collection papers --state failed
    """
    found = make_candor(home).documents.list(collection, state)
    if as_json:
        print_json([document.model_dump(mode="json") for document in found])
        return
    from api.cli.render.documents import show_documents

    show_documents(make_console(), found)


@app.command("rm")
def remove(
    document: Annotated[str, typer.Argument(help="Document id or a prefix of it, path, or name.")],
    collection: CollectionOption = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Remove a document from its collection. Keeps the file; ingesting it again adds it back.

    Example: candor documents rm report.pdf
    """
    removed = make_candor(home).documents.remove(document, collection)
    if as_json:
        print_json({"removed": removed.id, "name": removed.name, "chunks": removed.chunks})
    else:
        print_message(f"Removed {removed.name} ({count(removed.chunks, 'passage')}).")

"""``candor show``: one document, or its text."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from api.cli.common import CollectionOption, Home, Json, command, make_candor, make_console, print_json

app = command()


@app.command()
def show(
    document: Annotated[str, typer.Argument(help="Document id or a prefix of it, path, or name.")],
    text: Annotated[bool, typer.Option("--text", help="Print the parsed text, to which all spans refer.")] = False,
    collection: CollectionOption = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Show the metadata of a document, or its parsed text.

    Example: candor show report.pdf --text
    """
    documents = make_candor(home).documents
    found = documents.find(document, collection)
    parsed = documents.text(found).text if text else None
    if as_json:
        print_json(found.model_dump(mode="json") | ({"text": parsed} if text else {}))
    elif parsed is not None:
        sys.stdout.write(parsed)
    else:
        from api.cli.render.documents import show_document

        show_document(make_console(), found)

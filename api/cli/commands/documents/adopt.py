"""``candor adopt``: change a collection on a Qdrant server with another database than before."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, Yes, command, make_candor, print_result
from api.cli.completion import complete_collections

app = command()


@app.command()
def adopt(
    collection: Annotated[str, typer.Argument(help="Collection to adopt.", autocompletion=complete_collections)],
    yes: Yes = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Make the current database the owner of a collection on a Qdrant server.

    Only the owner can change a collection. Use this if the database of the owner is lost, then ingest the files again:
    passages that the collection already has are not embedded again.

    Example: candor adopt papers
    """
    if not yes:
        typer.confirm(
            f"Make this database the owner of {collection!r}? Candor with its former database can no longer change it.",
            abort=True,
            err=True,
        )
    make_candor(home).collections.adopt(collection)
    print_result({"adopted": collection}, f"{collection} belongs to this database.", as_json)

"""``candor drop``: delete a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, Yes, command, make_candor, print_result
from api.cli.completion import complete_collections

app = command()


@app.command()
def drop(
    collection: Annotated[str, typer.Argument(help="Collection to delete.", autocompletion=complete_collections)],
    yes: Yes = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Delete a collection and its index. Keeps the original files and past runs.

    Example: candor drop papers
    """
    if not yes:
        typer.confirm(f"Delete the collection {collection!r}?", abort=True, err=True)
    make_candor(home).collections.drop(collection)
    print_result({"dropped": collection}, f"Deleted {collection}.", as_json)

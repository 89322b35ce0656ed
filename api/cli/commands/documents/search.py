"""``candor search``: find passages without a language model."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from api.cli import filters
from api.cli.common import (
    CollectionsOption,
    Home,
    Json,
    command,
    make_candor,
    make_console,
    print_json,
    print_message,
    require_text,
    selection,
)
from api.errors import UsageError

app = command()


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="Search words, or a question.")],
    collection: CollectionsOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Number of passages.")] = 10,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="NAME=VALUE", help="Search only documents with this fact or metadata value."),
    ] = None,
    documents: filters.Documents = None,
    folder: filters.Folder = None,
    types: filters.Types = None,
    since: filters.Since = None,
    tags: filters.Tags = None,
    mode: Annotated[
        Literal["words", "meaning", "hybrid"],
        typer.Option("--mode", help="Search by words, by meaning, or by both (hybrid)."),
    ] = "hybrid",
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Order the best passages again with the reranker of the settings.")
    ] = False,
    timings: Annotated[
        bool, typer.Option("--timings", help="Print the duration of each stage to standard error.")
    ] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Find passages without a language model.

    Searches by keywords and by meaning, only in documents that meet all conditions. A phrase in quotes must stand in
    the passage; `-word` excludes passages with the word. `candor show` prints the facts and metadata of a document.

    Example: candor search "net sales" --where "issuer=Apple Inc." --where period=2023-07-01
    """
    from api.services.documents.search import require_reranker, timed_search
    from vectorstore.models import SearchMode

    given = dict(_named_value(each) for each in where or ())
    wanted = filters.make_filter(documents, folder, types, since, tags)
    candor = make_candor(home)
    found = timed_search(
        candor.collections,
        selection(collection),
        require_text(query, "query"),
        limit,
        given,
        wanted,
        SearchMode(mode),
        require_reranker(candor.reranker) if rerank else None,
    )
    if as_json:
        print_json(
            [hit.model_dump(mode="json", exclude={"chunk"}) | hit.chunk.model_dump(mode="json") for hit in found.hits]
        )
    else:
        from api.cli.render.documents import show_hits

        show_hits(make_console(), found.hits)
    if found.note:
        print_message(found.note)
    if timings or rerank:
        print_message(" · ".join(f"{name} {seconds:.2f} s" for name, seconds in found.seconds.items()))


def _named_value(written: str) -> tuple[str, str]:
    """Split a ``--where`` value into name and value. Raises UsageError."""
    name, equals, value = written.partition("=")
    if not name or not equals:
        raise UsageError(f"--where must be NAME=VALUE, such as period=2023-07-01, not {written!r}.")
    return name, value

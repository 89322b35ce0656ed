"""``candor search`` and ``candor show``: find passages, show documents and evidence."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from api.cli.common import (
    FILTERS,
    Cli,
    CollectionOption,
    CollectionsOption,
    Command,
    command,
    print_json,
    print_message,
    print_text,
    selection,
)
from api.cli.given import make_filter, require_text
from api.errors import UsageError
from ingest.errors import DocumentNotFound

if TYPE_CHECKING:
    from api.bootstrap import Candor
    from ingest.ledger.records import DocumentRecord


app = command()


class _Query(Command):
    """A command that reads `-word` as a word of its query. Options such as `-n5` and values stay as they are."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Typer's context type is private
        with_value = {name for each in self.params if not getattr(each, "is_flag", True) for name in each.opts}
        end = [*args, "--"].index("--")
        before = pairwise(["", *args[:end]])
        marked = [f" {each}" if last not in with_value and self._is_word(each) else each for last, each in before]
        return super().parse_args(ctx, marked + args[end:])

    def _is_word(self, written: str) -> bool:
        if not re.fullmatch(r"-[^\W\d][^\W\d].*", written):
            return False
        if written.startswith("-c"):
            raise UsageError(
                f"{written} can be a collection or a word to exclude. Write `-c {written[2:]}`, or put the whole query "
                f"in quotes: 'QUERY {written}'."
            )
        return True


@app.command(cls=_Query, shares={"documents", "latest", *FILTERS})
def search(
    cli: Cli,
    words: Annotated[list[str], typer.Argument(metavar="QUERY", help="Search words, or a question.")],
    collection: CollectionsOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Number of passages.")] = 10,
    mode: Annotated[
        Literal["words", "meaning", "hybrid"],
        typer.Option("--mode", help="Search by words, by meaning, or by both (hybrid)."),
    ] = "hybrid",
    rerank: Annotated[
        bool, typer.Option("--rerank", help="Order the best passages again with the reranker of the settings.")
    ] = False,
    counted: Annotated[
        bool, typer.Option("--count", help="Count a word or phrases in whole texts, by document.")
    ] = False,
    timings: Annotated[
        bool, typer.Option("--timings", help="Print the duration of each stage to standard error.")
    ] = False,
) -> None:
    """Find passages without a language model.

    Searches by keywords and by meaning, only in documents that meet all conditions. A phrase in quotes must stand in
    the passage; `-word` excludes passages with the word. `candor show` prints the facts and metadata of a document.

    --count says how often a word stands in each document, in all its inflections, or a phrase as written. To count
    several, put each of them in quotes.

    Examples: candor search "net sales" --where "issuer=Apple Inc." --where period=2023-07-01;
    candor search --count '"force majeure" "act of God"' -c contracts
    """
    from api.cli.render.documents import show_counts, show_hits
    from api.services.documents.search import count_words, require_reranker, timed_search
    from vectorstore.models import SearchMode

    wanted, query = make_filter(cli), " ".join(words)
    candor = cli.make_candor()
    if counted:
        name = candor.collections.resolve(selection(collection))
        with candor.collections.open_library(name) as library:
            counts = count_words(library, candor.documents, require_text(query, "query"), wanted)
        cli.show(counts, show_counts)
        return
    found = timed_search(
        candor.collections,
        selection(collection),
        require_text(query, "query"),
        limit,
        wanted,
        SearchMode(mode),
        require_reranker(candor.reranker) if rerank else None,
    )
    hits = [hit.model_dump(mode="json", exclude={"chunk"}) | hit.chunk.model_dump(mode="json") for hit in found.hits]
    cli.show(hits, show_hits, found.hits)
    if found.note:
        print_message(found.note)
    if timings or rerank:
        print_message(" · ".join(f"{name} {seconds:.2f} s" for name, seconds in found.seconds.items()))


@app.command()
def show(
    cli: Cli,
    document: Annotated[str, typer.Argument(help="Document id or a prefix of it, path, or name; or a run id.")],
    number: Annotated[
        int | None, typer.Argument(min=1, help="Number of evidence in the answer of the run.", show_default=False)
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the parsed text. Spans are offsets in it.")] = False,
    page: Annotated[
        str | None,
        typer.Option(
            "--page", help="Print only the text of this page (number, or printed number).", show_default=False
        ),
    ] = None,
    collection: CollectionOption = None,
) -> None:
    """Show the metadata of a document, or its parsed text.

    With a run id and a number, show the text around this item of evidence in the document, the web page or the tool
    result, with a link to its source.

    Examples: candor show report.pdf --page 3; candor show report.pdf --page iii; candor show run_3f2a 1
    """
    from api.cli.render.answers import show_kept
    from api.cli.render.documents import show_document
    from api.services.research.kept_text import RunSources, evidence_text

    candor = cli.make_candor()
    if number is not None:
        sources = RunSources(candor.documents, candor.tools.calls, candor.trace, document, cli.caller)
        cli.show(evidence_text(sources, number), show_kept)
        return
    try:
        found = candor.documents.find(document, collection)
    except DocumentNotFound as error:
        if document.startswith("run_"):
            raise error.with_command(
                f"`candor trace {document}` shows a run, `candor show {document} 1` its first quote."
            ) from None
        raise
    parsed = _text(candor, found, page) if text or page else None
    if parsed is None:
        cli.show(found, show_document)
    elif cli.as_json:
        print_json(found.model_dump(mode="json") | {"text": parsed})
    else:
        # Programs get the text exactly as it was indexed. On a terminal, control characters are replaced.
        print_text(parsed, end="") if sys.stdout.isatty() else sys.stdout.write(parsed)


def _text(candor: Candor, document: DocumentRecord, page: str | None) -> str:
    """Return the parsed text, or the text of a page followed by a newline. Raises IngestError."""
    from api.services.documents.contents import page_number, page_text
    from vectorstore.models import page_labels

    parsed = candor.documents.text(document)
    if page is None:
        return parsed.text
    number = page_number(parsed, page)
    if label := page_labels(parsed.pages).get(number):
        print_message(f"Page {number} (printed {label})")
    return page_text(document, parsed, number).text.rstrip("\n") + "\n"

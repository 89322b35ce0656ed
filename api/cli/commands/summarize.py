"""``candor summarize``: say what whole documents are about, read piece by piece."""

from typing import Annotated

import typer

from api.cli.common import FILTERS, LIMITS, Cli, CollectionsOption, command, selection
from api.cli.given import make_filter

app = command()


@app.command(shares={"model", *FILTERS, *LIMITS})
def summarize(
    cli: Cli,
    documents: Annotated[
        list[str] | None,
        typer.Argument(help="Names of documents; * and ? stand for any characters. Default: all.", show_default=False),
    ] = None,
    collection: CollectionsOption = None,
    about: Annotated[
        str, typer.Option("--about", metavar="QUESTION", help="A question about the documents as a whole.")
    ] = "",
) -> None:
    """Read documents in full and say what they are about, with a quote for every sentence.

    Reads each document in pieces, one model call each. Notes of pieces that an earlier run has read with the same model
    cost nothing, also if that run failed or reached its limit. Exit code 1 if the run failed or was cancelled.

    Examples: candor summarize manual.pdf; candor summarize -c contracts --about "What do they say about notice?"
    """
    from api.cli.ask.run import make_budgeted, run_question, show_and_end

    candor = cli.make_candor()
    options = {
        "mode": "direct",
        "agent": "Summarizer",
        "model": cli.model,
        "filter": make_filter(cli, documents),
        "sources": ["documents"],
    }
    one = documents[0] if documents and len(documents) == 1 else ""
    asked = f"What is {one} about, and what does it say?" if one else "What are these documents about?"
    request = make_budgeted(about.strip() or asked, options, cli.limits, candor.settings.research.budget)
    answer = run_question(candor, request, selection(collection), progress=not cli.as_json)
    show_and_end(cli, answer)

"""``candor ask``, ``chat`` and ``summarize``: research a question, a conversation, or whole documents."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from api.cli.common import (
    FILTERS,
    LIMITS,
    AgentOption,
    Cli,
    CollectionsOption,
    command,
    make_console,
    print_text,
    selection,
)
from api.cli.given import make_filter, require_text

app = command()


@app.command(shares={"model", "sources", "documents", "latest", *FILTERS, *LIMITS})
def ask(
    cli: Cli,
    question: Annotated[str, typer.Argument(help="The question, in quotation marks.", show_default=False)] = "",
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Files and folders to read first. Unchanged files are skipped.", show_default=False),
    ] = None,
    collection: CollectionsOption = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode", help="fast: one search, at most two model calls in sequence; high: planned research; or auto."
        ),
    ] = "auto",
    agent: AgentOption = "",
    agents: Annotated[
        str,
        typer.Option(
            "--agents",
            help="Ask several agents, separated by commas, or '@all' for all that can answer alone. A vote chooses.",
        ),
    ] = "",
    each: Annotated[
        str, typer.Option("--each", metavar="document", help="Ask the question of every document, one call each.")
    ] = "",
    session: Annotated[
        str, typer.Option("--session", help="Conversation name. Its earlier questions complete this one.")
    ] = "",
    continues: Annotated[
        str, typer.Option("--continues", help="Earlier run. Its conversation completes the question.", metavar="RUN")
    ] = "",
    template: Annotated[str, typer.Option("--template", "--plan", help="Follow the saved plan of this name.")] = "",
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", help="Value of a parameter of the saved plan, as NAME=VALUE. Repeatable."),
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, max=32, help="Generate N answers and vote.")
    ] = None,
    passages: Annotated[
        Path | None,
        typer.Option("--passages", help="JSON file with passages that you already have. Agents read them first."),
    ] = None,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Search the collection in addition to --passages.")
    ] = True,
    again: Annotated[
        str,
        typer.Option(
            "--again",
            metavar="RUN",
            help="Ask the question of this run again, with the options of the run unless you set others.",
        ),
    ] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Omit findings that only come close to an answer.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print the steps, whole quotes, computations and checks.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the answer.")] = False,
) -> None:
    """Answer a question from a collection, with evidence.

    With paths, first reads new and changed files below them. Without --collection, the collection is named after the
    first path and contains exactly these files.

    --passages reads a list such as [{"text": "…", "source": "https://example.com/manual", "page": 3}]. Optional keys:
    document, page, score, chunk_id.

    When a limit is reached, the run ends with what it has found so far.

    If the question does not say whom or what it means, Candor asks back with what the documents show. At a terminal,
    type the number of a candidate to go on.

    Exit code 0 if the question was answered, or if the documents do not contain the answer (`status` is insufficient).
    Exit code 1 if the run failed, 130 if it was cancelled.

    Examples: candor ask "Which of these pumps works below -20 °C?" --collection papers; candor ask "What is due in
    May?" ./letters; candor ask --again run_3f2a --mode high --model large
    """
    from api.cli.ask.options import read_passages, repeat
    from api.cli.ask.run import make_budgeted, parse_inputs, run_question, show_and_end

    candor = cli.make_candor(creates=bool(paths))
    options = {
        "mode": mode,
        "agent": agent,
        "agents": tuple(name.strip() for name in agents.split(",") if name.strip()),
        "each": each,
        "model": cli.model,
        "session": session,
        "continues": continues,
        "template": template,
        "inputs": parse_inputs(inputs or []),
        "samples": samples,
        "strict": strict,
        "filter": make_filter(cli),
        **cli.chosen_sources,
        "rag_results": read_passages(passages) if passages else (),
        "search": search,
    }
    named = selection(collection)
    if again:
        question, named, options = repeat(candor.trace, again, cli, question, named, options)
    request = make_budgeted(require_text(question, "question"), options, cli.limits, candor.settings.research.budget)
    progress = not (cli.as_json or quiet)
    if paths:
        from api.cli.ask.folder import ingest_paths

        named = ingest_paths(candor, paths, named, cli.model, progress=progress)
    research = partial(run_question, candor, progress=progress, steps=verbose)
    answer = research(request, named)
    while answer.clarification and not cli.as_json:
        from api.cli.chat import choose
        from api.cli.render.answers import show_answer

        if quiet:
            print_text(f"{answer.clarification.question}\n{answer.answer}")
        else:
            show_answer(make_console(), answer, cli.home, full=verbose)
        if not (chosen := choose(answer, request)):
            return
        answer = research(chosen, named)
    sandbox = candor.tools.sandbox(answer.run_id)
    names = ", ".join(sandbox.names())
    written = f"Files written by the run, in {sandbox.root}: {names}" if names else ""
    unchecked = not cli.model and any(each.stands and not each.supported for each in answer.claims)
    note = "\n".join(filter(None, (written, candor.doctor.claim_hint if unchecked else "")))
    show_and_end(cli, answer, note=note, verbose=verbose, quiet=quiet)


@app.command(shares={"model", "sources", "documents", "latest", *FILTERS})
def chat(
    cli: Cli,
    collection: CollectionsOption = None,
    mode: Annotated[str, typer.Option("--mode", help="fast, high or auto, as in `candor ask`.")] = "auto",
    agent: AgentOption = "",
    session: Annotated[
        str, typer.Option("--session", help="Name of a conversation to start or continue. Default: a new name.")
    ] = "",
) -> None:
    """Ask questions that build on each other, in the terminal or one per line of standard input.

    A follow-up question such as "And his time?" is completed from the conversation. If Candor asks back, type the
    number of a candidate, or answer in your own words. Commands: /new starts a new conversation, /sources prints the
    sources of the last answer, /help lists the commands, /quit ends the chat. Ctrl-C cancels the running question. With
    --json, each answer is one line of JSON.

    Example: candor chat --collection papers
    """
    from api.cli.chat import Chat

    options: dict[str, Any] = {"mode": mode, "agent": agent, "model": cli.model, "session": session}
    options["filter"] = make_filter(cli)
    Chat(cli, selection(collection), options | cli.chosen_sources).run()


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
    cost nothing, also if that run failed or reached its limit. Exit code 1 if the run failed, 130 if it was
    cancelled.

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

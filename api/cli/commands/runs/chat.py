"""``candor chat``: a conversation in the terminal."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from api.cli import filters
from api.cli.common import (
    AgentOption,
    CollectionsOption,
    Home,
    ModelOption,
    SourcesOption,
    command,
    make_candor,
    selection,
)

app = command()


@app.command()
def chat(
    collection: CollectionsOption = None,
    mode: Annotated[str, typer.Option("--mode", help="fast, high or auto, as in `candor ask`.")] = "auto",
    agent: AgentOption = "",
    model: ModelOption = "",
    session: Annotated[
        str, typer.Option("--session", help="Name of a conversation to start or continue. Default: a new name.")
    ] = "",
    sources: SourcesOption = None,
    documents: filters.Documents = None,
    folder: filters.Folder = None,
    types: filters.Types = None,
    since: filters.Since = None,
    tags: filters.Tags = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each answer as one line of JSON.")] = False,
    home: Home = None,
) -> None:
    """Ask questions that build on each other, in the terminal or one per line of standard input.

    A follow-up question such as "And his time?" is completed from the conversation. If Candor asks back, type the
    number of a candidate, or answer in your own words. Commands: /new starts a new conversation, /sources prints the
    sources of the last answer, /help lists the commands, /quit ends the chat. Ctrl-C cancels the running question.

    Example: candor chat --collection papers
    """
    from api.cli.chat import Chat

    options: dict[str, Any] = {"mode": mode, "agent": agent, "model": model, "session": session}
    options["filter"] = filters.make_filter(documents, folder, types, since, tags)
    options |= {"sources": [each.strip() for each in sources.split(",")]} if sources else {}
    Chat(make_candor(home), selection(collection), options, home, as_json=as_json).run()

"""Commands about questions and their runs: ask, trace, runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from api.cli.common import (
    CollectionOption,
    Home,
    Json,
    make_candor,
    make_console,
    not_empty,
    plain,
    print_json,
    say,
)
from api.errors import UsageError

app = typer.Typer(rich_markup_mode=None)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    collection: CollectionOption = None,
    mode: Annotated[
        str, typer.Option("--mode", help="fast: one search, at most two model calls in a row; high: planned; or auto.")
    ] = "auto",
    agent: Annotated[str, typer.Option("--agent", help="Ask this agent directly, and no other.")] = "",
    model: Annotated[str, typer.Option("--model", help="Ask this one of the named endpoints ([llms.NAME]).")] = "",
    session: Annotated[str, typer.Option("--session", help="A conversation: its earlier questions are known.")] = "",
    plan: Annotated[str, typer.Option("--plan", help="Follow the plan saved under this name.")] = "",
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, max=32, help="Write the answer so often, and take a vote.")
    ] = None,
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=1, help="Model calls it may take.")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=1, help="Tokens it may take.")] = None,
    max_seconds: Annotated[float | None, typer.Option("--max-seconds", min=0.1, help="Time it may take.")] = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", help="What it may cost.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Research a question over a collection, and answer it with evidence.

    A budget that is reached ends the research with what is known so far.

    Exit code 0 if the research came to its end, be it an answer or the finding that the documents hold none
    (`status` tells which); 1 if it failed or was cancelled.

    Example: candor ask "Which of these pumps works below -20 °C, and where does it say so?" -c papers
    """
    from api.cli.ask import make_request, run_question

    candor = make_candor(home)
    request = make_request(
        not_empty(question, "question"),
        {"mode": mode, "agent": agent, "model": model, "session": session, "template": plan, "samples": samples},
        {"model_calls": max_calls, "tokens": max_tokens, "seconds": max_seconds, "cost": max_cost},
        candor.settings.research.budget,
    )
    answer = run_question(candor, request, collection, progress=not as_json)
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        from api.cli.render.terminal import show_answer

        show_answer(make_console(), answer, home)
        sandbox = candor.tools.sandbox(answer.run_id)
        if names := sandbox.names():
            say(f"Files of the run, in {sandbox.root}: {', '.join(names)}")
    if answer.status.value in ("failed", "cancelled"):
        raise typer.Exit(1)


@app.command()
def trace(
    run_id: Annotated[str, typer.Argument(help="The run, or the beginning of its id.")],
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Every prompt and response, and what tools gave, in full, too.")
    ] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Show the whole reasoning of a run, step by step.

    Example: candor trace run_3f2a --prompts
    """
    candor = make_candor(home)
    kept = candor.trace
    run = kept.run(run_id)
    happened = kept.events(run.run_id)
    calls = kept.journal_entries(run.run_id) if prompts else []
    tool_calls = candor.tools.calls.entries(run.run_id) if prompts else []
    if as_json:
        value: dict[str, Any] = {"run": run.model_dump(mode="json"), "events": [plain(event) for event in happened]}
        full = {"calls": [plain(call) for call in calls], "tool_calls": [plain(call) for call in tool_calls]}
        print_json({**value, **full} if prompts else value)
        return
    from api.cli.render.terminal import show_call, show_event, show_tool_call

    console = make_console()
    for event in happened:
        show_event(console, event)
    for call in calls:
        show_call(console, call)
    for made in tool_calls:
        show_tool_call(console, made)


@app.command()
def runs(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The latest so many.")] = 20,
    status: Annotated[
        list[str] | None, typer.Option("--status", help="Only those in this state, such as failed; more than once.")
    ] = None,
    collection: Annotated[str | None, typer.Option("--collection", "-c", help="Only those of this collection.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Only those whose question says this.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List the latest runs, newest first.

    Example: candor runs --status failed --collection papers
    """
    from multi_agent.storage.run_filter import RunFilter, RunState

    if unknown := [each for each in status or () if each not in list(RunState)]:
        raise UsageError(f"There is no state {unknown[0]!r}; there are {', '.join(RunState)}.")
    states = tuple(map(RunState, status)) if status else None
    wanted = RunFilter(status=states, collection=collection, text=text)
    found = make_candor(home).trace.runs(limit, wanted)
    if as_json:
        print_json([plain(run) for run in found])
        return
    from api.cli.render.terminal import show_table

    rows = [(run.run_id, run.status, f"{run.started_at:%Y-%m-%d %H:%M}", run.collection, run.question) for run in found]
    show_table(make_console(), ("run", "status", "started (UTC)", "collection", "question"), rows)

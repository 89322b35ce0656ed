"""``candor ask``: research a question."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import (
    CollectionOption,
    Home,
    Json,
    command,
    make_candor,
    make_console,
    print_json,
    print_message,
    require_text,
)

app = command()


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotation marks.")],
    collection: CollectionOption = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode", help="fast: one search, at most two model calls in sequence; high: planned research; or auto."
        ),
    ] = "auto",
    agent: Annotated[str, typer.Option("--agent", help="Ask only this agent.")] = "",
    model: Annotated[str, typer.Option("--model", help="Named model endpoint to use ([llms.NAME]).")] = "",
    session: Annotated[
        str, typer.Option("--session", help="Conversation name. Its earlier questions complete this one.")
    ] = "",
    plan: Annotated[str, typer.Option("--plan", help="Run the saved plan of this name.")] = "",
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, max=32, help="Generate N answers and vote.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Leave out what only comes close to an answer.")] = False,
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=1, help="Limit of model calls.")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=1, help="Limit of tokens.")] = None,
    max_seconds: Annotated[float | None, typer.Option("--max-seconds", min=0.1, help="Time limit.")] = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", help="Cost limit.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Answer a question from a collection, with evidence.

    When a limit is reached, the run ends with what it has found so far.

    Exit code 0 if the run is answered, or ends as insufficient because the documents do not hold the answer (see
    `status`); 1 if it failed or was cancelled.

    Example: candor ask "Which of these pumps works below -20 °C?" --collection papers
    """
    from api.cli.ask.run import make_request, run_question

    candor = make_candor(home)
    request = make_request(
        require_text(question, "question"),
        {
            "mode": mode,
            "agent": agent,
            "model": model,
            "session": session,
            "template": plan,
            "samples": samples,
            "strict": strict,
        },
        {"model_calls": max_calls, "tokens": max_tokens, "seconds": max_seconds, "cost": max_cost},
        candor.settings.research.budget,
    )
    answer = run_question(candor.panel, candor.collections, request, collection, progress=not as_json)
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        from api.cli.render.answers import show_answer

        show_answer(make_console(), answer, home)
        sandbox = candor.tools.sandbox(answer.run_id)
        if names := sandbox.names():
            print_message(f"Files written by the run, in {sandbox.root}: {', '.join(names)}")
    if answer.status.value in ("failed", "cancelled"):
        raise typer.Exit(1)

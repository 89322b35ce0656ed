"""``candor fork``: repeat a run from one of its steps with a change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from api.cli.common import Home, Json, RunId, command, make_candor, make_console, print_json, print_message
from api.errors import UsageError

app = command()


@app.command()
def fork(
    run_id: RunId,
    at: Annotated[str, typer.Option("--at", metavar="STEP", help="The first step that runs again.")],
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="model=ENDPOINT, instruction=TEXT, or inputs.NAME=VALUE for that step. Repeatable.",
        ),
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Repeat a run from a step with a change. Earlier steps are read from the journal and cost nothing.

    The run itself stays as it is. `candor trace RUN` lists its steps; `candor compare` shows what the change does.

    Example: candor fork run_3f2a --at answer --set model=large
    """
    from api.auth.permissions import LOCAL_CALLER
    from api.cli.ask.run import run_question
    from api.cli.render.answers import show_answer
    from api.services.research.fork import ForkChange, fork_request

    candor = make_candor(home)
    change = ForkChange(step=at, **parse_changes(changes or []))
    collection, request = fork_request(candor.trace, run_id, change, LOCAL_CALLER)
    answer = run_question(candor.panel, candor.collections, request, collection, progress=not as_json)
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        show_answer(make_console(), answer, home)
        origin = request.fork.run_id if request.fork else run_id
        print_message(f"`candor compare {origin} {answer.run_id}` compares the fork with the original run.")
    if answer.status.value in ("failed", "cancelled"):
        raise typer.Exit(1)


def parse_changes(given: Sequence[str]) -> dict[str, Any]:
    """Return the fields of ``ForkChange``. Values of inputs are JSON, otherwise text. Raises UsageError."""
    fields: dict[str, Any] = {"inputs": {}}
    for each in given:
        name, equals, value = each.partition("=")
        if equals and name in ("model", "instruction"):
            fields[name] = value
        elif equals and name.startswith("inputs.") and name != "inputs.":
            fields["inputs"][name.removeprefix("inputs.")] = _value(value)
        else:
            raise UsageError(f"--set {each!r} is not model=ENDPOINT, instruction=TEXT or inputs.NAME=VALUE.")
    return fields


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

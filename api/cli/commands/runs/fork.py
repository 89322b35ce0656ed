"""``candor fork``: repeat a run from one of its steps with a change."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, RunId, command, make_candor, print_json

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
            help="A change for that step: model=ENDPOINT, instruction=TEXT, inputs.NAME=VALUE, prompt=AGENT:FILE, or "
            "evidence=NUMBERS, such as evidence=1,3. plan=FILE.json sets another plan. Repeatable.",
        ),
    ] = None,
    options: Annotated[
        bool, typer.Option("--options", help="Only print the plan, prompts and evidence that can be changed, as JSON.")
    ] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Repeat a run from a step with a change. Earlier steps are read from the journal and cost nothing.

    The run itself stays as it is. `candor trace RUN` lists its steps; `candor compare` shows what the change does.
    The step and later ones use only the evidence that is set.

    Example: candor fork run_3f2a --at answer --set model=large
    """
    from api.auth.permissions import LOCAL_CALLER
    from api.cli.ask.run import run_question, show_and_end
    from api.cli.fork_changes import parse_changes
    from api.services.research.replay import fork_request, step_options

    candor = make_candor(home)
    if options:
        print_json(step_options(candor.panel, run_id, at, LOCAL_CALLER).model_dump(mode="json"))
        return
    change = parse_changes(at, changes or [])
    collection, request = fork_request(candor.panel, candor.collections.open_library, run_id, change, LOCAL_CALLER)
    answer = run_question(candor.panel, candor.collections, request, collection, progress=not as_json)
    origin = request.fork.run_id if request.fork else run_id
    note = f"`candor compare {origin} {answer.run_id}` compares the fork with the original run."
    show_and_end(answer, home, as_json=as_json, note=note)

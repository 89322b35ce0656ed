"""``candor plans``: saved plans."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, RunId, command_group, make_candor, print_json, print_list, print_message, to_json

app = command_group("plans", "List, save and delete plans.")


@app.command("list")
def list_all(as_json: Json = False, home: Home = None) -> None:
    """List the saved plans.

    The planner sees them as examples. Run one with `candor ask --plan NAME`.

    Example: candor plans
    """
    found = make_candor(home).plans.list()
    rows = [
        (each.name, " → ".join(", ".join(step.agents) for step in each.plan.steps), each.question) for each in found
    ]
    print_list(found, ("plan", "steps", "original question"), rows, as_json)


@app.command("save")
def save(
    name: Annotated[str, typer.Argument(help="Name for the plan.")],
    run_id: RunId,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Save the last plan of a run under a name.

    Example: candor plans save weekly run_3f2a
    """
    plan = make_candor(home).plans.save_from_run(name, run_id).plan
    if as_json:
        print_json({"saved": name, "plan": to_json(plan)})
    else:
        print_message(f"Saved {name}: {len(plan.steps)} steps.")


@app.command("rm")
def remove(
    name: Annotated[str, typer.Argument(help="Plan to delete.")], as_json: Json = False, home: Home = None
) -> None:
    """Delete a saved plan.

    Example: candor plans rm weekly
    """
    make_candor(home).plans.delete(name)
    if as_json:
        print_json({"removed": name})
    else:
        print_message(f"Deleted {name}.")

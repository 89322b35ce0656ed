"""Commands about saved plans."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, listing, make_candor, plain, print_json, say, show_list

app = listing("List, save and forget plans.")


@app.command("list")
def list_plans(as_json: Json = False, home: Home = None) -> None:
    """List the plans that were saved under a name.

    The planner is shown them as examples; `candor ask --plan NAME` follows one.

    Example: candor plans
    """
    found = make_candor(home).plans.list()
    rows = [
        (each.name, " → ".join(", ".join(step.agents) for step in each.plan.steps), each.question) for each in found
    ]
    show_list(found, ("plan", "steps", "made for the question"), rows, as_json)


@app.command("save")
def save_plan(
    name: Annotated[str, typer.Argument(help="What to call it.")],
    run_id: Annotated[str, typer.Argument(help="The run whose last plan it is, or the beginning of its id.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Save the plan of a run under a name.

    Example: candor plans save weekly run_3f2a
    """
    from api.services.plans import plan_of

    candor = make_candor(home)
    question, plan = plan_of(candor, run_id)
    candor.plans.save(name, plan, question)
    if as_json:
        print_json({"saved": name, "plan": plain(plan)})
    else:
        say(f"Saved {name}: {len(plan.steps)} steps.")


@app.command("rm")
def remove_plan(
    name: Annotated[str, typer.Argument(help="The plan to forget.")], as_json: Json = False, home: Home = None
) -> None:
    """Forget a saved plan.

    Example: candor plans rm weekly
    """
    make_candor(home).plans.delete(name)
    if as_json:
        print_json({"removed": name})
    else:
        say(f"Forgot {name}.")

"""``candor trace``: the events of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, RunId, command, make_candor, make_console, print_json, print_message
from api.errors import UsageError

app = command()


@app.command()
def trace(
    run_id: RunId,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Also show every prompt, model response and tool result in full.")
    ] = False,
    level: Annotated[
        str, typer.Option("--level", help="Show events down to this level: supervisor, planner, worker or tool.")
    ] = "tool",
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Show every step and decision of a run, indented by level.

    Example: candor trace run_3f2a --prompts
    """
    from multi_agent.llm.wrappers.usage import count_faults
    from multi_agent.values.bus import LEVELS, is_within

    lowest = next((each for each in LEVELS if each == level), None)
    if lowest is None:
        raise UsageError(f"Unknown level {level!r}. Choose from {', '.join(LEVELS)}.")

    candor = make_candor(home)
    run = candor.trace.run(run_id)
    events = candor.trace.events(run.run_id)
    faults = count_faults(events)
    events = [event for event in events if is_within(event, lowest)]
    calls = candor.trace.journal_entries(run.run_id) if prompts else []
    tool_calls = candor.tools.calls.entries(run.run_id) if prompts else []
    if as_json:
        full = {"calls": calls, "tool_calls": tool_calls} if prompts else {}
        print_json({"run": run, "events": events, "faults": faults, **full})
        return
    from api.cli.render.calls import show_call, show_tool_call
    from api.cli.render.run_events import show_event, show_faults

    console = make_console()
    for event in events:
        show_event(console, event)
    show_faults(console, faults)
    if run.status == "interrupted":
        print_message(f"The run was interrupted. `candor runs resume {run.run_id}` continues it.")
    for call in calls:
        show_call(console, call)
    for tool_call in tool_calls:
        show_tool_call(console, tool_call)

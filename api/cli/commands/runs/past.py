"""Commands about one past run: its events, repetitions with and without a change, comparison, rating and export."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Cli, RunId, command, make_console, print_json, print_message
from api.cli.completion import complete_runs
from api.errors import UsageError, usage_errors

app = command()


@app.command()
def trace(
    cli: Cli,
    run_id: RunId,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Also show every prompt, model response and tool result in full.")
    ] = False,
    level: Annotated[
        str, typer.Option("--level", help="Show events down to this level: supervisor, planner, worker or tool.")
    ] = "tool",
) -> None:
    """Show every step and decision of a run, indented by level.

    Example: candor trace run_3f2a --prompts
    """
    from multi_agent.llm.wrappers.usage import count_faults
    from multi_agent.values.bus import LEVELS, is_within

    lowest = next((each for each in LEVELS if each == level), None)
    if lowest is None:
        raise UsageError(f"Unknown level {level!r}. Choose from {', '.join(LEVELS)}.")

    candor = cli.make_candor()
    run = candor.trace.run(run_id)
    events = candor.trace.events(run.run_id)
    faults = count_faults(events)
    events = [event for event in events if is_within(event, lowest)]
    calls = candor.trace.journal_entries(run.run_id) if prompts else []
    tool_calls = candor.tools.calls.entries(run.run_id) if prompts else []
    if cli.as_json:
        full = {"calls": calls, "tool_calls": tool_calls} if prompts else {}
        print_json({"run": run, "events": events, "faults": faults, **full})
        return
    from api.cli.render.past import show_call, show_tool_call
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


@app.command()
def replay(cli: Cli, run_id: RunId) -> None:
    """Repeat a run from its journal without a model, tools or the web, and compare the events.

    The documents are searched again, with the settings of the run. The first event that differs is shown with its
    cause: a prompt, a document, the index, or the code.

    Exit code 0 if all events are the same, apart from times; 1 if one differs.

    Example: candor replay run_3f2a
    """
    import asyncio

    from api.cli.render.past import show_replay
    from api.services.research.replay import replay_run

    candor = cli.make_candor()
    result = asyncio.run(replay_run(candor.panel, candor.collections.open_library, run_id, cli.caller))
    cli.show(result, show_replay)
    if not result.same:
        raise typer.Exit(1)


@app.command()
def fork(
    cli: Cli,
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
) -> None:
    """Repeat a run from a step with a change. Earlier steps are read from the journal and cost nothing.

    The run itself stays as it is. `candor trace RUN` lists its steps; `candor compare` shows what the change does.
    The step and later ones use only the evidence that is set.

    Example: candor fork run_3f2a --at answer --set model=large
    """
    from api.cli.ask.options import parse_changes
    from api.cli.ask.run import run_question, show_and_end
    from api.services.research.replay import fork_request, step_options

    candor = cli.make_candor()
    if options:
        print_json(step_options(candor.panel, run_id, at, cli.caller).model_dump(mode="json"))
        return
    change = parse_changes(at, changes or [])
    collection, request = fork_request(candor.panel, candor.collections.open_library, run_id, change, cli.caller)
    answer = run_question(candor, request, collection, progress=not cli.as_json)
    origin = request.fork.run_id if request.fork else run_id
    note = f"`candor compare {origin} {answer.run_id}` compares the fork with the original run."
    show_and_end(cli, answer, note=note)


@app.command()
def compare(
    cli: Cli,
    first: RunId,
    second: Annotated[str, typer.Argument(help="Another run, by id or prefix.", autocompletion=complete_runs)],
) -> None:
    """Compare the plans, queries, passages, evidence, claims, costs and times of two runs, and their first difference.

    `-` marks what only the first run has, `+` what only the second one has.

    Example: candor compare run_3f2a run_9c41
    """
    from api.cli.render.past import show_comparison
    from api.services.research.compare import compare_runs

    cli.show(compare_runs(cli.make_candor().trace, first, second, cli.caller), show_comparison)


@app.command()
def rate(
    cli: Cli,
    run_id: RunId,
    rating: Annotated[str, typer.Argument(help="up, down, or none to remove the rating.")],
    note: Annotated[str, typer.Option("--note", help="Reason for the rating, such as the right answer.")] = "",
) -> None:
    """Rate the answer of a run. A new rating replaces the earlier one.

    `candor runs --rating down` lists rated runs. `candor eval from-ratings` creates a question set from them.

    Example: candor rate run_3f2a down --note "It is -20 °C, see page 3."
    """
    from api.services.research.runs import RatingRequest, rate_run
    from multi_agent.storage.run_filter import Rating

    if rating not in ("none", *Rating):
        raise UsageError(f"Unknown rating {rating!r}. Choose from up, down and none.")
    with usage_errors("Invalid rating"):
        given = RatingRequest(rating=None if rating == "none" else Rating(rating), note=note)
    run = rate_run(cli.make_candor().trace, run_id, given, cli.caller)
    cli.print_result(run, f"{run.run_id}: {f'rated {run.rating.value}' if run.rating else 'not rated'}. {run.question}")


@app.command()
def export(
    cli: Cli,
    run_id: RunId,
    format_name: Annotated[
        str | None,
        typer.Option("--format", "-f", help="md, html, json, docx or pdf. Default: suffix of the output file, or md."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write. Its suffix selects the format. Default: standard output."),
    ] = None,
) -> None:
    """Export the answer of a run with its citations.

    Example: candor export run_3f2a -o answer.docx
    """
    import asyncio

    from api.services.exports.export import choose_format
    from api.services.research.runs import export_run

    if cli.as_json and output is None:
        raise UsageError("--json reports the written file, so it needs --output. For the answer as JSON, use "
                         "--format json.")  # fmt: skip
    form = choose_format(format_name, output.name if output else "")
    candor = cli.make_candor()
    exported = asyncio.run(export_run(candor.trace, run_id, cli.caller, form, candor.documents, candor.pages))
    if output is None:
        sys.stdout.buffer.write(exported.content)
        return
    cli.write(output, exported.content)

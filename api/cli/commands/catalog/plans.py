"""``candor plans``: saved plans."""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import Cli, RunId, collection_option, command_group, make_console, print_text
from api.cli.given import edit_text, read_text
from api.errors import UsageError

if TYPE_CHECKING:
    from api.services.catalog.plans import PlanFile, Plans
    from multi_agent.orchestrator.planning.proposal import Proposal
    from multi_agent.values.plan import PlanExample

app = command_group("plans", "List, show, save, change, exchange and delete plans.")

Name = Annotated[str, typer.Argument(help="Name of the saved plan.")]
KeepDocuments = Annotated[
    bool, typer.Option("--keep-documents", help="Allow the plan to name documents. It then always reads these.")
]
Collection = Annotated[
    str | None,
    collection_option(
        "Collection of the plan: it may name its documents, and only keys that may read it see the plan."
    ),
]


@app.command("list")
def list_all(cli: Cli) -> None:
    """List the saved plans.

    The planner sees them as examples. Follow one with `candor ask --template NAME`.

    Example: candor plans
    """
    cli.print_list(cli.make_candor().plans.list(), ("plan", "steps", "parameters", "original question"), lambda each: (
        each.name, " → ".join(", ".join(step.agents) for step in each.plan.steps),
        ", ".join(parameter.name for parameter in each.plan.parameters), each.question,
    ))  # fmt: skip


@app.command()
def show(cli: Cli, name: Name) -> None:
    """Show a saved plan with its parameters and steps.

    Example: candor plans show weekly
    """
    from api.cli.render.runs import show_plan

    cli.show(cli.make_candor().plans.get(name), show_plan)


@app.command("save")
def save(
    cli: Cli,
    name: Annotated[str, typer.Argument(help="Name for the plan.")],
    run_id: RunId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Save the model's proposal without asking.")] = False,
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Ask no model. Save the plan only if it does not contain its question.")
    ] = False,
    keep_documents: KeepDocuments = False,
) -> None:
    """Save the last plan of a run as a template for other questions.

    The model proposes which words to replace with @{question} or a parameter such as @{inputs.company}. The proposal is
    printed, and saved after you confirm it.

    Example: candor plans save weekly run_3f2a
    """
    if not (yes or no_model) and (cli.as_json or not sys.stdin.isatty()):
        raise UsageError(
            "The proposal cannot be confirmed without a terminal. Add --yes to save it without confirmation, or "
            "--no-model to save the plan only if it does not contain its question."
        )
    plans = cli.make_candor().plans
    plans.memory.require_free(name)  # fails before the model call
    if no_model:
        saved = plans.save_from_run(name, run_id, keep_documents=keep_documents)
    else:
        import asyncio

        proposal = asyncio.run(plans.propose(run_id, keep_documents=keep_documents))
        saved = _save_proposal(plans, name, proposal, yes=yes, keep_documents=keep_documents, cli=cli)
    _print_saved(saved, "Saved", cli)


@app.command()
def edit(
    cli: Cli,
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="File with the new plan. Default: open your editor.")] = None,
    keep_documents: KeepDocuments = False,
    collection: Collection = None,
) -> None:
    """Change a saved plan in your editor or from a file.

    If the new text is invalid, it is kept in a file, and the error message names the file.

    Example: candor plans edit weekly
    """
    from api.services.catalog.plans import PlanFile
    from multi_agent.errors import AgentError

    plans = cli.make_candor().plans
    text = read_text(file) if file else edit_text(PlanFile.of(plans.get(name)).text, ".json")
    try:
        changed = PlanFile.parse(text, str(file or "The edited text"))
        if changed.name != name:
            raise UsageError(f"The text describes {changed.name!r}, not {name!r}. A plan cannot be renamed.")
        saved = plans.replace(name, changed.plan, changed.question, collection, keep_documents=keep_documents)
    except (AgentError, UsageError) as error:
        if file:
            raise
        kept = _keep(text)
        raise UsageError(
            f"{error} Nothing was changed. Your text is in {kept}. Correct it there, then run "
            f"`candor plans edit {shlex.quote(name)} {kept}`."
        ) from error
    _print_saved(saved, "Changed", cli)


@app.command()
def export(
    cli: Cli,
    name: Name,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.")
    ] = None,
) -> None:
    """Export a saved plan as a JSON file for `candor plans import`.

    Example: candor plans export weekly --output weekly.json
    """
    from api.services.catalog.plans import PlanFile

    text = PlanFile.of(cli.make_candor().plans.get(name)).text
    if output is None:
        print_text(text, end="")
        return
    cli.write(output, text)


@app.command("import")
def import_file(
    cli: Cli,
    file: Annotated[Path, typer.Argument(help="File that `candor plans export` wrote.")],
    name: Annotated[str, typer.Option("--name", help="Name for the plan. Default: the name in the file.")] = "",
    keep_documents: KeepDocuments = False,
    collection: Collection = None,
) -> None:
    """Save a plan from a file.

    Example: candor plans import weekly.json
    """
    from api.services.catalog.plans import PlanFile

    given = PlanFile.parse(read_text(file), str(file))
    plans = cli.make_candor().plans
    saved = plans.save(name or given.name, given.plan, given.question, collection, keep_documents=keep_documents)
    _print_saved(saved, "Imported", cli)


@app.command("delete")
def delete(cli: Cli, name: Annotated[str, typer.Argument(help="Plan to delete.")]) -> None:
    """Delete a saved plan.

    Example: candor plans delete weekly
    """
    cli.make_candor().plans.delete(name)
    cli.print_result({"removed": name}, f"Deleted {name}.")


def _save_proposal(
    plans: Plans, name: str, proposal: Proposal, *, yes: bool, keep_documents: bool, cli: Cli
) -> PlanExample:
    """Print the proposal and save it after confirmation. Without confirmation, write it to a file, raise UsageError."""
    from api.cli.render.runs import show_plan
    from api.services.catalog.plans import PlanFile

    if not cli.as_json:
        show_plan(make_console(), proposal)
    file = PlanFile(version=1, name=name, question=proposal.question, plan=proposal.plan)
    if proposal.faults:
        faults = " ".join(proposal.faults)
        raise UsageError(f"The proposal cannot be saved: {faults} {_continue_with(file, proposal.collection)}")
    if not yes and not typer.confirm("Save this template?", err=True):
        raise UsageError(f"Nothing was saved. {_continue_with(file, proposal.collection)}")
    return plans.save_proposal(name, proposal, keep_documents=keep_documents)


def _continue_with(file: PlanFile, collection: str) -> str:
    kept = _keep(file.text)
    command = f"candor plans import {kept} --collection {collection}"
    return f"The proposal is in {kept}. Change it there, then run `{command}`."


def _print_saved(saved: PlanExample, done: str, cli: Cli) -> None:
    parameters = ", ".join(each.name for each in saved.plan.parameters)
    takes = f" It takes {parameters}." if parameters else ""
    count = len(saved.plan.steps)
    told = f"{done} {saved.name}: {count} step{'s' if count > 1 else ''}.{takes}"
    cli.print_result({"saved": saved.name, "plan": saved.plan}, told)


def _keep(text: str) -> Path:
    """Write the text of an unsaved plan to a new file and return its path."""
    with tempfile.NamedTemporaryFile("w", prefix="plan-", suffix=".json", delete=False, encoding="utf-8") as file:
        file.write(text)
    return Path(file.name)

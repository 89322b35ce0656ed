"""``candor agents``: built-in and custom agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.common import Cli, command_group, print_json, print_text, schema_lines
from api.cli.given import edit_entry

if TYPE_CHECKING:
    from api.services.catalog.agents import AgentDescription

app = command_group("agents", "List, add, change, enable and disable agents.")

Name = Annotated[str, typer.Argument(help="Name of the agent.")]


@app.command("list")
def list_all(cli: Cli) -> None:
    """List all agents, including disabled ones.

    Example: candor agents
    """
    columns = ("agent", "enabled", "origin", "model", "description")
    cli.print_list(cli.make_candor().agents.list(), columns, lambda each: (
        each.name, "yes" if each.enabled else "no", each.origin, each.model or "default", each.description,
    ))  # fmt: skip


@app.command()
def show(cli: Cli, name: Name) -> None:
    """Show an agent. A custom agent is printed as a file for `candor agents add`.

    Example: candor agents show Lawyer > lawyer.toml
    """
    from multi_agent.catalog.store import as_toml

    found = cli.make_candor().agents.describe(name)
    if cli.as_json:
        print_json(found)
    elif found.custom:
        print_text(as_toml(found.custom), end="")
    else:
        print_text("\n".join(_lines(found)))


@app.command()
def add(
    cli: Cli,
    file: Annotated[Path, typer.Argument(help="TOML file with name, description, prompt, …; see docs/agents.md.")],
) -> None:
    """Add a custom agent from a file. Later plans can use it.

    Example: candor agents add lawyer.toml
    """
    from multi_agent.catalog.entries import CustomAgent
    from multi_agent.catalog.store import read_file

    added = cli.make_candor(creates=True).agents.add(read_file(file, CustomAgent))
    cli.print_result(added, f"Added {added.name}.")


@app.command()
def edit(
    cli: Cli,
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="File with the new content. Default: open your editor.")] = None,
) -> None:
    """Change a custom agent in your editor or from a file.

    Example: candor agents edit Lawyer
    """
    from multi_agent.catalog.entries import CustomAgent

    candor = cli.make_candor()
    changed = candor.agents.replace(name, edit_entry(candor.agent_catalog.get_custom(name), file, CustomAgent))
    cli.print_result(changed, f"Changed {name}.")


@app.command()
def enable(cli: Cli, name: Name) -> None:
    """Allow plans to use an agent again.

    Example: candor agents enable Analyst
    """
    _change(name, {"enabled": True}, f"Enabled {name}.", cli)


@app.command()
def disable(cli: Cli, name: Name) -> None:
    """Prevent plans from using an agent. Works for built-in agents, too.

    Example: candor agents disable Analyst
    """
    _change(name, {"enabled": False}, f"Disabled {name}.", cli)


@app.command()
def give(
    cli: Cli,
    name: Name,
    model: Annotated[str | None, typer.Option("--model", help="Named model endpoint; '' for the default.")] = None,
    skill: Annotated[
        list[str] | None, typer.Option("--skill", help="Skill to give. Repeatable; replaces the current skills.")
    ] = None,
    no_skills: Annotated[bool, typer.Option("--no-skills", help="Remove all skills of the agent.")] = False,
) -> None:
    """Set the model or the skills of an agent. Works for built-in agents, too.

    Example: candor agents give Synthesizer --model large --skill plain-words
    """
    skills = [] if no_skills else skill or None
    _change(name, {"model": model, "skills": skills}, f"Changed {name}.", cli)


@app.command("rm")
def remove(cli: Cli, name: Name) -> None:
    """Remove a custom agent.

    Example: candor agents rm Lawyer
    """
    cli.make_candor().agent_catalog.remove(name)
    cli.print_result({"removed": name}, f"Removed {name}.")


def _lines(agent: AgentDescription) -> list[str]:
    """Describe a built-in agent or an agent from a package, with the inputs of its tasks."""
    named = (("Tools", agent.tools), ("Skills", agent.skills))
    return [
        f"{agent.name} ({agent.origin}): {agent.description}",
        f"Reads: {', '.join(agent.reads) or 'only the question'}. "
        f"Requires: {', '.join(agent.requires) or 'nothing'}. Writes: {', '.join(agent.writes)}.",
        f"Listens to: {', '.join(agent.listens_to) or 'nothing'}.",
        f"Weight of its vote: {'none' if agent.weight is None else f'{agent.weight:g}'}.",
        *(f"{title}: {', '.join(names)}." for title, names in named if names),
        *schema_lines("Inputs", agent.inputs),
    ]


def _change(name: str, changes: dict[str, Any], message: str, cli: Cli) -> None:
    from api.services.catalog.agents import AgentChanges

    changed = cli.make_candor().agents.change(name, AgentChanges(**changes))
    cli.print_result(changed, message)

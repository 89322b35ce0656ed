"""``candor agents``: built-in and custom agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.common import (
    Home,
    Json,
    command_group,
    edit_entry,
    make_candor,
    print_json,
    print_list,
    print_result,
    print_text,
    schema_lines,
)

if TYPE_CHECKING:
    from api.services.catalog.agents import AgentDescription

app = command_group("agents", "List, add, change, enable and disable agents.")

Name = Annotated[str, typer.Argument(help="Name of the agent.")]


@app.command("list")
def list_all(as_json: Json = False, home: Home = None) -> None:
    """List all agents, including disabled ones.

    Example: candor agents
    """
    found = make_candor(home).agents.list()
    rows = [
        (each.name, "yes" if each.enabled else "no", each.origin, each.model or "default", each.description)
        for each in found
    ]
    print_list(found, ("agent", "enabled", "origin", "model", "description"), rows, as_json)


@app.command()
def show(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Show an agent. A custom agent is printed as a file for `candor agents add`.

    Example: candor agents show Lawyer > lawyer.toml
    """
    from multi_agent.catalog.store import as_toml

    found = make_candor(home).agents.describe(name)
    if as_json:
        print_json(found)
    elif found.custom:
        print_text(as_toml(found.custom), end="")
    else:
        print_text("\n".join(_lines(found)))


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="TOML file with name, description, prompt, …; see docs/agents.md.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Add a custom agent from a file. Later plans can use it.

    Example: candor agents add lawyer.toml
    """
    from multi_agent.catalog.entries import CustomAgent
    from multi_agent.catalog.store import read_file

    added = make_candor(home).agents.add(read_file(file, CustomAgent))
    _print_result(added, f"Added {added.name}.", as_json)


@app.command()
def edit(
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="File with the new content. Default: open your editor.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Change a custom agent in your editor or from a file.

    Example: candor agents edit Lawyer
    """
    from multi_agent.catalog.entries import CustomAgent

    agents = make_candor(home).agents
    changed = agents.replace(name, edit_entry(agents.custom(name), file, CustomAgent))
    _print_result(changed, f"Changed {name}.", as_json)


@app.command()
def enable(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Allow plans to use an agent again.

    Example: candor agents enable Analyst
    """
    _change(home, name, {"enabled": True}, f"Enabled {name}.", as_json)


@app.command()
def disable(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Prevent plans from using an agent. Works for built-in agents, too.

    Example: candor agents disable Analyst
    """
    _change(home, name, {"enabled": False}, f"Disabled {name}.", as_json)


@app.command()
def give(
    name: Name,
    model: Annotated[str | None, typer.Option("--model", help="Named model endpoint; '' for the default.")] = None,
    skill: Annotated[
        list[str] | None, typer.Option("--skill", help="Skill to give. Repeatable; replaces the current skills.")
    ] = None,
    no_skills: Annotated[bool, typer.Option("--no-skills", help="Remove all skills of the agent.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Set the model or the skills of an agent. Works for built-in agents, too.

    Example: candor agents give Synthesizer --model large --skill plain-words
    """
    skills = [] if no_skills else skill or None
    _change(home, name, {"model": model, "skills": skills}, f"Changed {name}.", as_json)


@app.command("rm")
def remove(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Remove a custom agent.

    Example: candor agents rm Lawyer
    """
    make_candor(home).agents.remove(name)
    print_result({"removed": name}, f"Removed {name}.", as_json)


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


def _change(home: Path | None, name: str, changes: dict[str, Any], message: str, as_json: bool) -> None:
    from api.services.catalog.agents import AgentChanges

    changed = make_candor(home).agents.change(name, AgentChanges(**changes))
    _print_result(changed, message, as_json)


def _print_result(agent: AgentDescription, message: str, as_json: bool) -> None:
    print_result(agent, message, as_json)

"""``candor skills``: instructions that can be given to agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
)

app = command_group("skills", "List, add and change skills (instructions for agents).")

Name = Annotated[str, typer.Argument(help="Name of the skill.")]


@app.command("list")
def list_all(as_json: Json = False, home: Home = None) -> None:
    """List the skills and the agents that have them.

    Example: candor skills
    """
    found = make_candor(home).skills.list()
    rows = [(each.name, ", ".join(each.given_to), each.description) for each in found]
    print_list(found, ("skill", "agents", "description"), rows, as_json)


@app.command()
def show(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Show a skill as a file for `candor skills add`.

    Example: candor skills show plain-words
    """
    from multi_agent.catalog.store import as_toml

    skills = make_candor(home).skills
    if as_json:
        print_json(skills.describe(name))
    else:
        print_text(as_toml(skills.get(name)), end="")


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="TOML file with name and instructions.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Add a skill from a file. Give it to agents with `candor agents give`.

    Example: candor skills add plain-words.toml
    """
    from multi_agent.catalog.entries import Skill
    from multi_agent.catalog.store import read_file

    skill = read_file(file, Skill)
    make_candor(home).skills.add(skill)
    _print_result("added", skill.name, as_json)


@app.command()
def edit(
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="File with the new content. Default: open your editor.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Change a skill in your editor or from a file. Applies to all agents that have it.

    Example: candor skills edit plain-words
    """
    from multi_agent.catalog.entries import Skill

    skills = make_candor(home).skills
    skills.replace(name, edit_entry(skills.get(name), file, Skill))
    _print_result("changed", name, as_json)


@app.command("rm")
def remove(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Remove a skill. It must not be given to any agent.

    Example: candor skills rm plain-words
    """
    make_candor(home).skills.remove(name)
    _print_result("removed", name, as_json)


def _print_result(done: str, name: str, as_json: bool) -> None:
    print_result({done: name}, f"{done.capitalize()} {name}.", as_json)

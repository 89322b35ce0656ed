"""Commands about skills: instructions that agents can be given."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Home, Json, edited, listing, make_candor, plain, print_json, say, show_list

app = listing("List and change skills, which agents are given.")

Name = Annotated[str, typer.Argument(help="The skill's name.")]


@app.command("list")
def list_them(as_json: Json = False, home: Home = None) -> None:
    """List the skills, and who has them.

    Example: candor skills
    """
    from api.services.skills import list_skills

    found = list_skills(make_candor(home))
    rows = [(each.name, ", ".join(each.given_to), each.description) for each in found]
    show_list(found, ("skill", "given to", "what it is for"), rows, as_json)


@app.command()
def show(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Show a skill as a file that `candor skills add` takes.

    Example: candor skills show plain-words
    """
    from api.services.skills import describe_skill
    from multi_agent.catalog.store import as_toml

    candor = make_candor(home)
    if as_json:
        print_json(plain(describe_skill(candor, name)))
    else:
        print(as_toml(candor.cast.skill(name).value), end="")


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="A TOML file with name and instructions.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Add the skill that a file describes; `candor agents give` gives it to agents.

    Example: candor skills add plain-words.toml
    """
    from multi_agent.catalog.entries import Skill
    from multi_agent.catalog.store import read_file

    skill = read_file(file, Skill)
    make_candor(home).cast.add_skill(skill)
    _tell(skill.name, "added", as_json)


@app.command()
def edit(
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="What it is to be; without, your editor opens.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Change a skill, in your editor or by a file; the agents that have it have it so from then on.

    Example: candor skills edit plain-words
    """
    from multi_agent.catalog.entries import Skill

    cast = make_candor(home).cast
    cast.edit_skill(edited(cast.skill(name).value, file, Skill))
    _tell(name, "changed", as_json)


@app.command("rm")
def remove(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Remove a skill that no agent has.

    Example: candor skills rm plain-words
    """
    make_candor(home).cast.remove_skill(name)
    _tell(name, "removed", as_json)


def _tell(name: str, done: str, as_json: bool) -> None:
    if as_json:
        print_json({done: name})
    else:
        say(f"The skill {name} is {done}.")

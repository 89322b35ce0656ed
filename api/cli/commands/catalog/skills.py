"""``candor skills``: instructions that can be given to agents."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Cli, command_group, print_json, print_text
from api.cli.given import edit_entry

app = command_group("skills", "List, add and change skills (instructions for agents).")

Name = Annotated[str, typer.Argument(help="Name of the skill.")]


@app.command("list")
def list_all(cli: Cli) -> None:
    """List the skills and the agents that have them.

    Example: candor skills
    """
    from api.services.catalog.skills import list_skills

    found = list_skills(cli.make_candor().agent_catalog)
    columns = ("skill", "agents", "description")
    cli.print_list(found, columns, lambda each: (each.name, ", ".join(each.given_to), each.description))


@app.command()
def show(cli: Cli, name: Name) -> None:
    """Show a skill as a file for `candor skills add`.

    Example: candor skills show plain-words
    """
    from api.services.catalog.skills import describe_skill
    from multi_agent.catalog.store import as_toml

    catalog = cli.make_candor().agent_catalog
    if cli.as_json:
        print_json(describe_skill(catalog, name))
    else:
        print_text(as_toml(catalog.get_skill(name).value), end="")


@app.command()
def add(cli: Cli, file: Annotated[Path, typer.Argument(help="TOML file with name and instructions.")]) -> None:
    """Add a skill from a file. Give it to agents with `candor agents give`.

    Example: candor skills add plain-words.toml
    """
    from multi_agent.catalog.entries import Skill
    from multi_agent.catalog.store import read_file

    skill = read_file(file, Skill)
    cli.make_candor(creates=True).agent_catalog.add_skill(skill)
    _print_result("added", skill.name, cli)


@app.command()
def edit(
    cli: Cli,
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="File with the new content. Default: open your editor.")] = None,
) -> None:
    """Change a skill in your editor or from a file. Applies to all agents that have it.

    Example: candor skills edit plain-words
    """
    from api.services.catalog.skills import replace_skill
    from multi_agent.catalog.entries import Skill

    catalog = cli.make_candor().agent_catalog
    replace_skill(catalog, name, edit_entry(catalog.get_skill(name).value, file, Skill))
    _print_result("changed", name, cli)


@app.command("rm")
def remove(cli: Cli, name: Name) -> None:
    """Remove a skill. It must not be given to any agent.

    Example: candor skills rm plain-words
    """
    cli.make_candor().agent_catalog.remove_skill(name)
    _print_result("removed", name, cli)


def _print_result(done: str, name: str, cli: Cli) -> None:
    cli.print_result({done: name}, f"{done.capitalize()} {name}.")

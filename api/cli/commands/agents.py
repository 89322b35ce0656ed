"""Commands about agents: those there are, and those that people describe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.common import Home, Json, edited, listing, make_candor, plain, print_json, say, show_list

if TYPE_CHECKING:
    from api.bootstrap import Candor

app = listing("List, describe, enable and disable agents.")

Name = Annotated[str, typer.Argument(help="The agent's name.")]


@app.command("list")
def list_them(as_json: Json = False, home: Home = None) -> None:
    """List all agents, disabled ones too.

    Example: candor agents
    """
    from api.services.agents import list_agents

    found = list_agents(make_candor(home))
    rows = [
        (each.name, "yes" if each.enabled else "no", each.origin, each.model or "default", each.description)
        for each in found
    ]
    show_list(found, ("agent", "enabled", "kept as", "model", "what it does"), rows, as_json)


@app.command()
def show(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Show an agent; a custom one as a file that `candor agents add` takes.

    Example: candor agents show Lawyer > lawyer.toml
    """
    from api.services.agents import describe_agent
    from multi_agent.catalog.store import as_toml

    found = describe_agent(make_candor(home), name)
    if as_json:
        print_json(plain(found))
    elif found.custom:
        print(as_toml(found.custom), end="")
    else:
        print(f"{found.name} ({found.origin}): {found.description}\nReads {', '.join(found.reads) or 'nothing more'}; "
              f"needs {', '.join(found.requires) or 'nothing'}; writes {', '.join(found.writes)}.")  # fmt: skip


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help="A TOML file with name, description, prompt, …; see docs/agents.md.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Add the agent that a file describes; the next question may be given to it.

    Example: candor agents add lawyer.toml
    """
    from multi_agent.catalog.entries import CustomAgent
    from multi_agent.catalog.store import read_file

    agent = read_file(file, CustomAgent)
    candor = make_candor(home)
    candor.cast.add(agent)
    _tell(candor, agent.name, f"Added {agent.name}.", as_json)


@app.command()
def edit(
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="What it is to be; without, your editor opens.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Change a custom agent, in your editor or by a file.

    Example: candor agents edit Lawyer
    """
    from multi_agent.catalog.entries import CustomAgent

    candor = make_candor(home)
    candor.cast.edit(edited(candor.cast.custom(name), file, CustomAgent))
    _tell(candor, name, f"Changed {name}.", as_json)


@app.command()
def enable(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Let plans use an agent again.

    Example: candor agents enable Analyst
    """
    _change(home, name, {"enabled": True}, f"Enabled {name}.", as_json)


@app.command()
def disable(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Let no plan use an agent, be it a built-in one.

    Example: candor agents disable Analyst
    """
    _change(home, name, {"enabled": False}, f"Disabled {name}.", as_json)


@app.command()
def give(
    name: Name,
    model: Annotated[str | None, typer.Option("--model", help="Named endpoint; '' for the default one.")] = None,
    skill: Annotated[list[str] | None, typer.Option("--skill", help="All that it is to have; repeat it.")] = None,
    no_skills: Annotated[bool, typer.Option("--no-skills", help="Take all its skills from it.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Give an agent a model or skills, be it a built-in one.

    Example: candor agents give Synthesizer --model large --skill plain-words
    """
    skills = [] if no_skills else skill or None
    _change(home, name, {"model": model, "skills": skills}, f"Changed {name}.", as_json)


@app.command("rm")
def remove(name: Name, as_json: Json = False, home: Home = None) -> None:
    """Remove a custom agent.

    Example: candor agents rm Lawyer
    """
    make_candor(home).cast.remove(name)
    if as_json:
        print_json({"removed": name})
    else:
        say(f"Removed {name}.")


def _change(home: Path | None, name: str, changes: dict[str, Any], told: str, as_json: bool) -> None:
    from api.services.agents import AgentChanges, change_agent

    candor = make_candor(home)
    change_agent(candor, name, AgentChanges(**changes))
    _tell(candor, name, told, as_json)


def _tell(candor: Candor, name: str, told: str, as_json: bool) -> None:
    from api.services.agents import describe_agent

    if as_json:
        print_json(plain(describe_agent(candor, name)))
    else:
        say(told)

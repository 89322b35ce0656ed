"""Commands about what is remembered: preferences, conversations, how-to notes."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, listing, make_candor, plain, print_json, say, show_list

app = listing("List and change what the planner is told beside the question.")

MemoryId = Annotated[str, typer.Argument(help="The memory's id.")]
_NOBODY = ""  # the person at this machine has no key


@app.command("list")
def list_them(as_json: Json = False, home: Home = None) -> None:
    """List your preferences, how-to notes and conversations.

    Example: candor memories
    """
    found = make_candor(home).memories.entries(_NOBODY)
    rows = [(each.id, each.kind, each.session, each.text, each.answer) for each in found]
    show_list(found, ("memory", "kind", "session", "text", "answer"), rows, as_json)


@app.command()
def add(
    text: Annotated[str, typer.Argument(help="What you want of every answer, in short.")],
    how_to: Annotated[bool, typer.Option("--how-to", help="A note on how such questions are worked on.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Remember a preference, or a how-to note, for the planner.

    Example: candor memories add "Answer in German."
    """
    added = make_candor(home).memories.add("how_to" if how_to else "preference", text, _NOBODY)
    if as_json:
        print_json(plain(added))
    else:
        say(f"Remembered as {added.id}.")


@app.command()
def edit(
    memory_id: MemoryId,
    text: Annotated[str, typer.Argument(help="What is to stand in its place.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Put other words in the place of a memory.

    Example: candor memories edit mem_0f3a5c7e9b1d "Answer in German, in short sentences."
    """
    changed = make_candor(home).memories.edit(memory_id, text, _NOBODY)
    if as_json:
        print_json(plain(changed))
    else:
        say(f"Changed {memory_id}.")


@app.command("rm")
def remove(memory_id: MemoryId, as_json: Json = False, home: Home = None) -> None:
    """Forget a memory.

    Example: candor memories rm mem_0f3a5c7e9b1d
    """
    make_candor(home).memories.delete(memory_id, _NOBODY)
    if as_json:
        print_json({"removed": memory_id})
    else:
        say(f"Forgot {memory_id}.")

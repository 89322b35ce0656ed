"""``candor memories``: preferences, how-to notes, conversations and tool use."""

from typing import Annotated

import typer

from api.cli.common import Cli, command_group

app = command_group("memories", "List and change what the planner remembers between questions.")

MemoryId = Annotated[str, typer.Argument(help="Id of the memory.")]


@app.command("list")
def list_all(cli: Cli) -> None:
    """List your preferences, how-to notes, conversations, and tool use that led to answers.

    Example: candor memories
    """
    found = list(cli.make_candor().memories.entries(cli.caller.key))
    columns = ("memory", "kind", "session", "text", "answer")
    cli.print_list(found, columns, lambda each: (each.id, each.kind, each.session, each.text, each.answer))


@app.command()
def add(
    cli: Cli,
    text: Annotated[str, typer.Argument(help="The preference, in one short sentence.")],
    how_to: Annotated[bool, typer.Option("--how-to", help="Add a how-to note for certain questions instead.")] = False,
) -> None:
    """Add a preference or a how-to note for the planner.

    Example: candor memories add "Answer in German."
    """
    from api.services.catalog.memories import add_memory

    added = add_memory(cli.make_candor(creates=True).memories, cli.caller, "how_to" if how_to else "preference", text)
    cli.print_result(added, f"Added {added.id}.")


@app.command()
def edit(cli: Cli, memory_id: MemoryId, text: Annotated[str, typer.Argument(help="The new text.")]) -> None:
    """Replace the text of a memory.

    Example: candor memories edit mem_0f3a5c7e9b1d "Answer in German, in short sentences."
    """
    from api.services.catalog.memories import edit_memory

    changed = edit_memory(cli.make_candor().memories, cli.caller, memory_id, text)
    cli.print_result(changed, f"Changed {memory_id}.")


@app.command("rm")
def remove(cli: Cli, memory_id: MemoryId) -> None:
    """Delete a memory.

    Example: candor memories rm mem_0f3a5c7e9b1d
    """
    from api.services.catalog.memories import delete_memory

    delete_memory(cli.make_candor().memories, cli.caller, memory_id)
    cli.print_result({"removed": memory_id}, f"Deleted {memory_id}.")

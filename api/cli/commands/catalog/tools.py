"""``candor tools``: the tools that agents can be granted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import Cli, command_group, print_json, print_text, schema_lines

if TYPE_CHECKING:
    from api.services.catalog.tools import ToolDescription

app = command_group("tools", "List the tools that agents can be granted.")


@app.command("list")
def list_all(
    cli: Cli,
    servers: Annotated[bool, typer.Option("--servers", help="Also list the tools of each MCP server.")] = False,
) -> None:
    """List the tools that agents can be granted.

    Example: candor tools --servers
    """
    import asyncio

    from api.services.catalog.tools import describe_tools

    found = asyncio.run(describe_tools(cli.make_candor().tools, ask_servers=servers))
    columns = ("tool", "approval", "description")
    cli.print_list(found, columns, lambda each: (
        each.name, _needs_approval(each), each.unavailable or each.description,
    ))  # fmt: skip


@app.command()
def show(
    cli: Cli, name: Annotated[str, typer.Argument(help="Name of the tool; SERVER.TOOL for a tool of an MCP server.")]
) -> None:
    """Show the description of a tool, its arguments, and the name of its key.

    Example: candor tools show download_file
    """
    import asyncio

    from api.services.catalog.tools import describe_tool

    found = asyncio.run(describe_tool(cli.make_candor().tools, name))
    if cli.as_json:
        print_json(found)
        return
    lines = [
        f"{found.name}: {found.description}",
        f"Approval: {_needs_approval(found) or 'not needed'}.",
        *([f"Key: {found.key}."] if found.key else []),
        *([f"Unavailable: {found.unavailable}"] if found.unavailable else []),
        *schema_lines("Arguments", found.inputs),
    ]
    print_text("\n".join(lines))


def _needs_approval(tool: ToolDescription) -> str:
    """Return which calls need an approval. Empty if none does."""
    return "each call" if tool.dangerous else "new addresses" if tool.fetches else ""

"""``candor tools``: the tools that agents can be granted."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, command_group, make_candor, print_list

app = command_group("tools", "List the tools that agents can be granted.")


@app.command("list")
def list_all(
    servers: Annotated[bool, typer.Option("--servers", help="Also list the tools of each MCP server.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List the tools that agents can be granted.

    Example: candor tools --servers
    """
    import asyncio

    from api.services.tools import describe_tools

    found = asyncio.run(describe_tools(make_candor(home).tools, ask_servers=servers))
    rows = [(each.name, "yes" if each.dangerous else "", each.unavailable or each.description) for each in found]
    print_list(found, ("tool", "approval", "description"), rows, as_json)

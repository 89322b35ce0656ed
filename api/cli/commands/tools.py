"""The command that lists the tools agents can be granted."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, listing, make_candor, show_list

app = listing("The tools that agents can be granted.")


@app.command("list")
def list_tools(
    servers: Annotated[bool, typer.Option("--servers", help="Ask each MCP server for its tools, too.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List the tools that agents can be granted.

    Example: candor tools --servers
    """
    import asyncio

    from api.services.tools import describe_tools

    found = asyncio.run(describe_tools(make_candor(home), ask_servers=servers))
    rows = [
        (each.name, "with approval" if each.dangerous else "", each.unavailable or each.description) for each in found
    ]
    show_list(found, ("tool", "", "what it does"), rows, as_json)

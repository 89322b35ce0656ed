"""The command that serves tools to another program: mcp."""

from __future__ import annotations

import typer

from api.cli.common import Home, make_candor

app = typer.Typer(rich_markup_mode=None)


@app.command()
def mcp(home: Home = None) -> None:
    """Serve search, research and reading to a program that starts this, by the Model Context Protocol over stdio.

    While `candor serve` runs on the same data, let the program connect to it instead, at /mcp.

    Example, in the settings of such a program: {"command": "candor", "args": ["mcp"]}
    """
    import asyncio

    from api.mcp.transports import serve_stdio

    asyncio.run(serve_stdio(make_candor(home)))

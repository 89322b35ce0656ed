"""``candor mcp``: an MCP server over stdio."""

from __future__ import annotations

from api.cli.common import Home, command, make_candor

app = command()


@app.command()
def mcp(home: Home = None) -> None:
    """Serve MCP over stdio: search, research and reading.

    If `candor serve` is running on the same data folder, its /mcp endpoint starts faster.

    Example, in the client's settings: {"command": "candor", "args": ["mcp"]}
    """
    import asyncio

    from api.mcp.transports import serve_stdio

    asyncio.run(serve_stdio(make_candor(home)))

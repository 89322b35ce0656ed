"""A small MCP server for tests, over standard input and output or over HTTP on a given port.

Its tools write to the folder in the environment variable ``GARDEN``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

if "--dead" in sys.argv:
    sys.exit(f"no seeds in the shed {os.environ.get('GARDEN_KEY', '')}")

server = MCPServer("garden")
garden = Path(os.environ.get("GARDEN", "."))


class Bed(BaseModel):
    """Where something is planted."""

    row: int = Field(ge=1, description="counted from the fence")


@server.tool()
def plant(what: str, bed: Bed) -> str:
    """Plants something in a bed."""
    if what == "stone":
        raise ToolError("stones do not grow")
    if what == "mine":
        os._exit(1)
    with (garden / "planted.txt").open("a") as file:
        file.write(f"{what} in row {bed.row}\n")
    return f"{what} grows in row {bed.row}"


@server.tool()
def look() -> str:
    """Tells what grows."""
    return (garden / "planted.txt").read_text() if (garden / "planted.txt").exists() else "nothing"


@server.tool()
def tell() -> str:
    """Tells the key of the garden."""
    return f"The key is {os.environ.get('GARDEN_KEY')}."


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")

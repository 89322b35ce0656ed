"""Tools with visible effects: each call appends a line to a file in the sandbox of its run."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.tool import ToolCard, ToolKit, ToolResult
from vectorstore.errors import CollectionNotFound

PACKAGE = "support.effects"
LOG = "log.txt"


class What(FrozenModel):
    """What is to be done."""

    what: str = Field(min_length=1, description="a word for it")


class _Effect:
    def __init__(self, kit: ToolKit) -> None:
        self._kit = kit

    async def __call__(self, given: What) -> ToolResult:
        sandbox = self._kit.sandbox
        lines = sandbox.read(LOG).decode().splitlines() if LOG in sandbox.names() else []
        sandbox.write(LOG, "\n".join([*lines, given.what]).encode())
        return ToolResult(text=f"{given.what} is number {len(lines) + 1}")


class Note(_Effect):
    """Harmless."""

    card: ClassVar[ToolCard] = ToolCard(name="note", description="Notes it.", inputs=What)


class Launch(_Effect):
    """Must not run twice."""

    card: ClassVar[ToolCard] = ToolCard(name="launch", description="Launches it.", inputs=What, dangerous=True)


class Stall(_Effect):
    """Has its effect and never returns."""

    card: ClassVar[ToolCard] = ToolCard(name="stall", description="Launches it, slowly.", inputs=What, dangerous=True)

    async def __call__(self, given: What) -> ToolResult:
        await super().__call__(given)
        await asyncio.sleep(3600)
        return ToolResult()


class Break(_Effect):
    """Raises an unexpected error."""

    card: ClassVar[ToolCard] = ToolCard(name="break", description="Breaks.", inputs=What)

    async def __call__(self, given: What) -> ToolResult:
        raise ZeroDivisionError(given.what)


class Wish(_Effect):
    """Lacks a setting."""

    card: ClassVar[ToolCard] = ToolCard(
        name="wish", description="Grants a wish.", inputs=What, lacks=lambda _: "No lamp is set (`tools.lamp`)."
    )


class Lose(_Effect):
    """Raises a StoreError."""

    card: ClassVar[ToolCard] = ToolCard(name="lose", description="Loses it.", inputs=What)

    async def __call__(self, given: What) -> ToolResult:
        await asyncio.sleep(0.1)
        raise CollectionNotFound(given.what)

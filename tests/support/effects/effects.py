"""Tools whose effects a test can see: each call leaves a line in a file of the sandbox of its run."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from pydantic import Field

from multi_agent.tool import ToolCard, ToolKit, ToolResult
from vectorstore.errors import CollectionNotFound
from vectorstore.models import FrozenModel

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
    """Not to be done twice."""

    card: ClassVar[ToolCard] = ToolCard(name="launch", description="Launches it.", inputs=What, dangerous=True)


class Stall(_Effect):
    """Has its effect, and never comes to its end."""

    card: ClassVar[ToolCard] = ToolCard(name="stall", description="Launches it, slowly.", inputs=What, dangerous=True)

    async def __call__(self, given: What) -> ToolResult:
        await super().__call__(given)
        await asyncio.sleep(3600)
        return ToolResult()


class Break(_Effect):
    """Has a defect."""

    card: ClassVar[ToolCard] = ToolCard(name="break", description="Breaks.", inputs=What)

    async def __call__(self, given: What) -> ToolResult:
        raise ZeroDivisionError(given.what)


class Wish(_Effect):
    """Cannot be used."""

    card: ClassVar[ToolCard] = ToolCard(
        name="wish", description="Grants a wish.", inputs=What, lacks=lambda _: "No lamp is set (`tools.lamp`)."
    )


class Lose(_Effect):
    """Needs a store that is gone."""

    card: ClassVar[ToolCard] = ToolCard(name="lose", description="Loses it.", inputs=What)

    async def __call__(self, given: What) -> ToolResult:
        await asyncio.sleep(0.1)
        raise CollectionNotFound(given.what)

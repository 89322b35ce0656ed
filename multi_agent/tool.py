"""The contract of a tool, and what a tool is given to work with. Implementations: one file each in ``tools/``.

A new tool is a new file in a tools package, with a class like this; nothing else changes:

    class CityInput(Value):
        city: str = Field(description="name of the city, as a map has it")

    class Weather:
        card = ToolCard(name="weather", description="Tells today's weather in a city.", inputs=CityInput)

        def __init__(self, kit: ToolKit) -> None: …

        async def __call__(self, given: CityInput) -> ToolResult: …

A tool does its work and nothing else. That its calls are told, remembered, bounded in time, and approved by a person
where it is dangerous, is seen to around it: see ``given_tool.py``. Tools of MCP servers have the same contract.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel, Field

from multi_agent.library import Library
from multi_agent.toolbox.sandbox import Sandbox
from multi_agent.toolbox.settings import ToolSettings
from vectorstore.models import Chunk, FrozenModel


class ToolCard(FrozenModel):
    """What a tool is, for the model that calls it and for people who grant it."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9_]{0,63}(\.[A-Za-z0-9_./-]{1,128})?$",
        description="a tool of an MCP server stands behind the server's name and a dot",
    )
    description: str = Field(description="what it does, what it gives and when to use it: the model reads this")
    inputs: type[BaseModel] = Field(description="its arguments; the model reads the descriptions of their fields")
    dangerous: bool = Field(default=False, description="whether a person has to approve each call")
    lacks: Callable[[ToolSettings], str] | None = Field(
        default=None, description="tells why it cannot be used as things are set, and what to set; empty if it can"
    )

    def unavailable(self, settings: ToolSettings) -> str:
        """Why it cannot be used; empty if it can."""
        return self.lacks(settings) if self.lacks else ""


class ToolResult(FrozenModel):
    """What a call gave. Only passages of documents can be quoted as evidence; all else is told as what it is."""

    text: str = ""
    passages: tuple[Chunk, ...] = Field(default=(), description="of the collection, to be read and quoted from")
    sources: tuple[str, ...] = Field(default=(), description="addresses on the web that the text comes from")


@dataclass(frozen=True)
class ToolKit:
    """What a tool works with: a fresh one is made for every run."""

    library: Library
    sandbox: Sandbox
    settings: ToolSettings


class Tool(Protocol):
    """One thing that a model can have done."""

    @property
    def card(self) -> ToolCard:
        """What it is."""
        ...

    async def __call__(self, given: Any) -> ToolResult:
        """Do it; ``given`` is of the type of the card's ``inputs``.

        Raises ToolError with what the model is to know; StoreError, AgentError for what is no fault of the call.
        """
        ...


def part(text: str, start: int, most: int) -> str:
    """So much of a text from a character on, and how to read on; a tool that gives long texts has a ``start``."""
    end = min(len(text), start + most)
    if start and start >= len(text):
        return f"(There is nothing from character {start} on: it has {len(text)}.)"
    rest = f"\n(Characters {start} to {end} of {len(text)}; read on with start={end}.)" if end < len(text) else ""
    return text[start:end] + rest


ToolClass = Callable[[ToolKit], Tool]

"""The tool protocol and the kit of a tool. Implementations are in ``tools/``.

To add a tool, add a file with a class like this to a tools package:

    class CityInput(Value):
        city: str = Field(description="name of the city, as a map has it")

    class Weather:
        card = ToolCard(name="weather", description="Tells today's weather in a city.", inputs=CityInput)

        def __init__(self, kit: ToolKit) -> None: …

        async def __call__(self, given: CityInput) -> ToolResult: …

``toolbox/granted_tool.py`` wraps every tool. It publishes and journals calls, limits their time, and gets approvals for
dangerous tools. Tools of MCP servers implement the same protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from pydantic import BaseModel, Field

from base.models import FrozenModel
from multi_agent.library import Library
from multi_agent.sandbox import Sandbox
from multi_agent.settings.research import Source
from multi_agent.settings.tools import ToolSettings
from vectorstore.models import Chunk, WebPage

if TYPE_CHECKING:
    from base.web import Fetched

TOOL_NAME = r"^[a-z][a-z0-9_]{0,63}(\.[A-Za-z0-9_./-]{1,128})?$"


class ToolCard(FrozenModel):
    """Description of a tool, for the model that calls it and for the person who grants it."""

    name: str = Field(pattern=TOOL_NAME, description="tools of MCP servers have the form SERVER.TOOL")
    description: str = Field(description="what it does, what it returns and when to use it; the model reads this")
    inputs: type[BaseModel] = Field(description="type of its arguments; the model reads the descriptions of the fields")
    dangerous: bool = Field(default=False, description="whether each call needs approval")
    fetches: str = Field(
        default="", description="name of the argument that is a URL to fetch; a URL that the model wrote needs approval"
    )
    source: Source = Field(default="tools", description="the kind of evidence that its results are")
    lacks: Callable[[ToolSettings], str] | None = Field(
        default=None, description="function that returns why the settings do not allow its use, or an empty text"
    )

    def unavailable(self, settings: ToolSettings) -> str:
        """Return the reason why the tool cannot be used, or an empty text."""
        return self.lacks(settings) if self.lacks else ""


class ToolResult(FrozenModel):
    """The result of a call. Passages can be quoted as evidence.

    The text of a tool with the source "tools" and without passages becomes a passage.
    """

    text: str = ""
    passages: tuple[Chunk, ...] = Field(default=(), description="passages of documents, web pages or this result")
    sources: tuple[str, ...] = Field(default=(), description="URLs of the text")
    links: tuple[str, ...] = Field(
        default=(), description="URLs that it found, which the run may fetch without approval"
    )
    file: str = Field(default="", description="name of the file of the run that it wrote")
    proves: bool = Field(
        default=True, description="whether its text is evidence; what a file says that the run wrote is not"
    )


class PageText(NamedTuple):
    """The text of a page. ``date`` is the publication date in ISO format, if the page gives one."""

    title: str
    date: str
    text: str
    links: tuple[str, ...]
    needs_script: bool
    """Whether the HTML has little text and contains scripts that may load more."""


class FileReader(Protocol):
    """Reads what comes from the web, apart from the process of the run. Calls block and raise ToolError."""

    def page(self, page: Fetched) -> PageText:
        """Return the text of a page or of a text file."""
        ...

    def passages(self, path: Path, origin: WebPage) -> tuple[Chunk, ...]:
        """Return the passages of a downloaded file of any format that can be ingested."""
        ...


@dataclass(frozen=True)
class ToolKit:
    """The dependencies of a tool. Each run has its own kit."""

    library: Library
    sandbox: Sandbox
    settings: ToolSettings
    files: FileReader


class Tool(Protocol):
    """A tool that a model can call."""

    @property
    def card(self) -> ToolCard:
        """Description of the tool."""
        ...

    async def __call__(self, given: Any) -> ToolResult:
        """Make a call. ``given`` is an instance of the card's ``inputs``.

        Raises ToolError with a message for the model, or StoreError and AgentError for errors unrelated to the call.
        """
        ...


class KitTool:
    """A tool that keeps its kit."""

    def __init__(self, kit: ToolKit) -> None:
        self._kit = kit


def excerpt(text: str, start: int, max_length: int) -> str:
    """Return ``max_length`` characters of a text from ``start``, with a note on how to read the rest."""
    end = min(len(text), start + max_length)
    if start and start >= len(text):
        return f"(There is nothing from character {start} on: it has {len(text)}.)"
    rest = f"\n(Characters {start} to {end} of {len(text)}; read on with start={end}.)" if end < len(text) else ""
    return text[start:end] + rest


class ToolClass(Protocol):
    """A class that implements ``Tool``."""

    card: ClassVar[ToolCard]

    def __call__(self, kit: ToolKit) -> Tool: ...

"""Single tools, called as the engine calls them, without an engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from multi_agent.library import Library
from multi_agent.sandbox import Sandbox
from multi_agent.settings.tools import ToolSettings
from multi_agent.tool import ToolKit, ToolResult
from multi_agent.toolbox.toolbox import ToolRegistry
from support.pages import PagesHere
from support.waiting import LIMIT_S
from support.web import Web

Call = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """Of 20,000 bytes."""
    return Sandbox(tmp_path / "sandbox", 20_000)


@pytest.fixture
def call(sandbox: Sandbox) -> Call:
    """``await call("read_file", {"name": "a.txt"}, result_characters=500)``."""

    async def make(name: str, arguments: dict[str, Any], **settings: Any) -> ToolResult:
        chosen = ToolSettings(**{"timeout_s": LIMIT_S, **settings})
        kit = ToolKit(library=cast(Library, None), sandbox=sandbox, settings=chosen, files=PagesHere())
        tool = ToolRegistry.discover().get(name)
        assert not tool.card.unavailable(kit.settings)
        return await tool(kit)(tool.card.inputs.model_validate(arguments))

    return make


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as started:
        yield started

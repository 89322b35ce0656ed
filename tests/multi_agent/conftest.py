"""Fixtures: a small real collection and a panel over it with a scripted endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from api.services.research.library import CollectionLibrary
from multi_agent.llm.models import Models, build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.memory.plans import PlanMemory
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.settings.tools import ToolSettings
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.approvals import Approvals
from multi_agent.toolbox.toolbox import BUILT_IN as BUILT_IN_TOOLS
from multi_agent.toolbox.toolbox import Toolbox, ToolRegistry
from support.database import make_engine
from support.pages import PagesHere
from support.runs.small_collection import make_orchestrator, small_collection
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import Embedder

AGENT_PROMPT = "# System\nYou explain terms.\n# User\n$question ($passages passages)\n"


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """Three documents of one passage each; no run changes them."""
    with small_collection(tmp_path_factory.mktemp("collections"), embedder) as library:
        yield library


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """A trace in a SQLite file, as in production."""
    return Trace(make_engine(tmp_path / "trace.db"))


@pytest.fixture
def plans(tmp_path: Path, embedder: Embedder) -> PlanMemory:
    """Plans in a SQLite file, compared by the real embedding model."""
    engine = make_engine(tmp_path / "plans.db")
    return PlanMemory(engine, lambda text: embedder.embed_query(text)[0], embedder.model)


@pytest.fixture
def make_tools(tmp_path: Path) -> Callable[..., Toolbox]:
    """``make_tools(timeout_s=2)``: the built-in tools, with calls and approvals in a SQLite file."""

    def make(**settings: Any) -> Toolbox:
        engine = make_engine(tmp_path / "tools.db")
        chosen = ToolSettings(**{"timeout_s": LIMIT_S, **settings})
        registry = ToolRegistry.discover((BUILT_IN_TOOLS, *chosen.packages), chosen.disabled)
        return Toolbox(registry, chosen, tmp_path / "sandbox", Approvals(engine), ToolCalls(engine), PagesHere())

    return make


@pytest.fixture
def panel(
    library: CollectionLibrary, trace: Trace, plans: PlanMemory, make_tools: Callable[..., Toolbox]
) -> Callable[..., Orchestrator]:
    """``panel(endpoint_settings, agent_packages=…, step_timeout_s=…, tools=…)``."""

    def make(
        settings: EndpointSettings,
        *,
        llms: dict[str, EndpointSettings] | None = None,
        tools: Toolbox | None = None,
        **research: Any,
    ) -> Orchestrator:
        models = Models(build_llm(settings), llms)
        return make_orchestrator(models, library, trace, plans, tools or make_tools(), **research)

    return make


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a package with this agent and prompt, and return its name."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def write(name: str, source: str, prompt: str | None = AGENT_PROMPT) -> str:
        folder = tmp_path / "site" / name
        (folder / "agents").mkdir(parents=True)
        (folder / "prompts").mkdir()
        for package in (folder, folder / "agents"):
            (package / "__init__.py").touch()
        (folder / "agents" / "extra.py").write_text(dedent(source))
        if prompt:
            (folder / "prompts" / "extra.md").write_text(prompt)
        return f"{name}.agents"

    return write

"""Fixtures: a small real collection and a panel over it with a scripted endpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from api.services.research.library import CollectionLibrary
from multi_agent.catalog.registry import BUILT_IN, AgentRegistry
from multi_agent.library import CatalogueEntry
from multi_agent.llm.factory import build_llm
from multi_agent.llm.models import Models
from multi_agent.llm.settings import EndpointSettings
from multi_agent.memory.plans import PlanMemory
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.settings import ResearchSettings
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.approvals import Approvals
from multi_agent.toolbox.registry import BUILT_IN as BUILT_IN_TOOLS
from multi_agent.toolbox.registry import ToolRegistry
from multi_agent.toolbox.settings import ToolSettings
from multi_agent.toolbox.toolbox import Toolbox
from support.chunks import make_chunk
from support.database import make_engine
from support.waiting import LIMIT_S
from vectorstore.edge import EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import CollectionSpec, PageSpan
from vectorstore.retrieval import Retriever

MANUAL = "Chapter 3. Operation in winter.\nThe Borea 12 works down to -25 °C.\nBelow that it switches off."
RECIPE = "Whisk the eggs.\nBake for 40 minutes at 180 °C."
AGENT_PROMPT = "# System\nYou explain terms.\n# User\n$question ($passages passages)\n"
NOTES = "The team met on Monday.\nThe Borea 12 was said to work down to -22 °C."


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """Three documents of one passage each; no run changes them."""
    chunks = [
        make_chunk(MANUAL, document="/docs/manual.pdf", page_spans=(PageSpan(number=7, start=0, end=len(MANUAL)),)),
        make_chunk(RECIPE, document="/docs/recipe.md"),
        make_chunk(NOTES, document="/docs/notes.md"),
    ]
    spec = CollectionSpec(
        name="mixed", embedding_model=embedder.model, dimension=embedder.dimension, chunking="sections-v1/256"
    )
    entries = [CatalogueEntry(name=chunk.name, id=chunk.document_id, chunks=1) for chunk in chunks]
    with EdgeStore(tmp_path_factory.mktemp("collections")).create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages([chunk.embedded_text for chunk in chunks]))
        yield CollectionLibrary("mixed", lambda: entries, Retriever(collection, embedder))


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """A trace in a SQLite file, as in production."""
    return Trace(make_engine(tmp_path / "trace.db"))


@pytest.fixture
def plans(tmp_path: Path, embedder: Embedder) -> PlanMemory:
    """Plans in a SQLite file, compared by the real embedding model."""
    engine = make_engine(tmp_path / "plans.db")
    return PlanMemory(engine, embedder.embed_query, embedder.model)


@pytest.fixture
def make_tools(tmp_path: Path) -> Callable[..., Toolbox]:
    """``make_tools(rounds=2)``: the built-in tools, with calls and approvals in a SQLite file."""

    def make(**settings: Any) -> Toolbox:
        engine = make_engine(tmp_path / "tools.db")
        chosen = ToolSettings(**{"timeout_s": LIMIT_S, **settings})
        registry = ToolRegistry.discover((BUILT_IN_TOOLS, *chosen.packages), chosen.disabled)
        return Toolbox(registry, chosen, tmp_path / "sandbox", Approvals(engine), ToolCalls(engine))

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
        chosen = ResearchSettings(**research)
        registry = AgentRegistry.discover((BUILT_IN, *chosen.agent_packages), chosen.disabled_agents)
        models = Models(build_llm(settings), llms)
        return Orchestrator(models, library, registry, trace, plans, chosen, tools or make_tools())

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

"""What of Candor only its panel is made of: agents, memories, models, and the orchestrator over them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from api.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from multi_agent.catalog.catalog import AgentCatalog
    from multi_agent.catalog.registry import AgentRegistry
    from multi_agent.library import Library
    from multi_agent.llm.models import Models
    from multi_agent.memory.memories import Memories
    from multi_agent.memory.plans import PlanMemory
    from multi_agent.orchestrator.orchestrator import Orchestrator
    from multi_agent.storage.trace import Trace
    from multi_agent.toolbox.toolbox import Toolbox
    from vectorstore.embedding.embedder import Embedder
    from vectorstore.store import Vectors


class PanelParts:
    """A part of ``Candor``, which has what this is made from."""

    settings: Settings

    if TYPE_CHECKING:

        @cached_property
        def engine(self) -> Engine: ...

        @cached_property
        def embedder(self) -> Embedder: ...

        @cached_property
        def trace(self) -> Trace: ...

        @cached_property
        def plans(self) -> PlanMemory: ...

        @cached_property
        def tools(self) -> Toolbox: ...

    @cached_property
    def memories(self) -> Memories:
        """What people want of answers, how to go about questions, and what was said before."""
        from multi_agent.memory.memories import Memories

        model = self.settings.store.embedding.model
        return Memories(self.engine, self.embed_query, model)

    def embed_query(self, text: str) -> Vectors:
        """A question as the embedding model sees it. Raises EmbeddingModelError."""
        return self.embedder.embed_query(text)

    @cached_property
    def agent_catalog(self) -> AgentCatalog:
        """The agents and skills there are, to be listed and changed."""
        from multi_agent.catalog.catalog import AgentCatalog
        from multi_agent.catalog.registry import BUILT_IN, AgentRegistry
        from multi_agent.catalog.store import CatalogStore

        research = self.settings.research
        found = AgentRegistry.discover((BUILT_IN, *research.agent_packages))
        return AgentCatalog(
            found, CatalogStore(self.engine, self.settings.home), research, self.settings.llms, self.tools.registry
        )

    @property
    def registry(self) -> AgentRegistry:
        """The agents that plans may use, as they are now: who was added a moment ago is among them."""
        return self.agent_catalog.registry()

    def models(self) -> Models:
        """The models of the settings, made anew: they belong to the event loop that first asks them.

        How many requests an endpoint gets at once is bounded over all processes that work on this home folder.
        """
        from multi_agent.llm.factory import build_llm
        from multi_agent.llm.models import Models

        shared = self.settings.home / "endpoints"
        return Models(build_llm(self.settings.llm, shared), self.settings.llms, shared)

    def orchestrator(self, library: Library, models: Models | None = None, key: str = "") -> Orchestrator:
        """The panel over a library, asking ``models``, or those of the settings, for the holder of ``key``."""
        from multi_agent.orchestrator.orchestrator import Orchestrator

        asked, settings = models or self.models(), self.settings.research
        memory = self.memories.for_key(key)
        return Orchestrator(asked, library, self.registry, self.trace, self.plans, settings, self.tools, memory)

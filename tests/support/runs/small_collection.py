"""A real collection of three documents of one passage each, and orchestrators over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from api.services.research.library import CollectionLibrary
from multi_agent.catalog.registry import BUILT_IN, AgentRegistry
from multi_agent.library import CatalogueEntry, Library
from multi_agent.llm.models import Models
from multi_agent.memory.plans import PlanMemory
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.settings.research import ResearchSettings
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.toolbox import Toolbox
from support.chunks import make_chunk
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import CollectionSpec, PageSpan
from vectorstore.retrieval import Retriever

MANUAL = "Chapter 3. Operation in winter.\nThe Borea 12 works down to -25 °C.\nBelow that it switches off."
RECIPE = "Whisk the eggs.\nBake for 40 minutes at 180 °C."
NOTES = "The team met on Monday.\nThe Borea 12 was said to work down to -22 °C."


@contextmanager
def small_collection(folder: Path, embedder: Embedder) -> Iterator[CollectionLibrary]:
    """Store the three documents in the folder, and open their library."""
    chunks = [
        make_chunk(MANUAL, document="/docs/manual.pdf", page_spans=(PageSpan(number=7, start=0, end=len(MANUAL)),)),
        make_chunk(RECIPE, document="/docs/recipe.md"),
        make_chunk(NOTES, document="/docs/notes.md"),
    ]
    spec = CollectionSpec(
        name="mixed", embedding_model=embedder.model, dimension=embedder.dimension, chunking="sections-v1/256"
    )
    entries = [CatalogueEntry(name=chunk.name, id=chunk.document_id, chunks=1) for chunk in chunks]
    with EdgeStore(folder).create(spec) as collection:
        collection.upsert(chunks, embedder.embed_passages([chunk.embedded_text for chunk in chunks]))
        yield CollectionLibrary("mixed", lambda: entries, Retriever(collection, embedder))


def make_orchestrator(
    models: Models, library: Library, trace: Trace, plans: PlanMemory, tools: Toolbox, **research: Any
) -> Orchestrator:
    """Return an orchestrator with these research settings."""
    chosen = ResearchSettings(**research)
    registry = AgentRegistry.discover((BUILT_IN, *chosen.agent_packages), chosen.disabled_agents)
    return Orchestrator(models, library, registry, trace, plans, chosen, tools)

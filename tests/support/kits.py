"""Runs one agent without an orchestrator: a kit over a real model client that records published events and updates.

bench = Bench(Extractor, serve(responder))
update = await bench.run(make_context("Which pump?", chunks=chunks))
bench.context.evidence     # merged as in a run
bench.of_type("evidence_rejected")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, cast

from api.services.research.library import CollectionLibrary
from multi_agent.agent import Agent, AgentCard, AgentKit
from multi_agent.library import CatalogueEntry, Library
from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.wrappers.journal import RunCalls, RunLLM
from multi_agent.prompt import Prompt
from multi_agent.settings.research import ResearchSettings
from multi_agent.values.context import ContextUpdate, ResearchContext, Understanding, Wording
from multi_agent.values.context_merge import merge
from multi_agent.values.events import Body
from multi_agent.values.tasks import TaskData, TaskStorage, task_data_type
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, CollectionSpec
from vectorstore.retrieval import Retriever

UNREACHABLE = EndpointSettings(provider="ollama", base_url="http://127.0.0.1:9", model="none")
"""No server: an agent that calls a model fails."""


class _NoLibrary:
    """A library for agents that do not use one; any use fails the test."""

    collection = "none"

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"unexpected use of the library: {name}")


@dataclass
class Bench:
    """Runs one agent. ``context`` is the shared context after the last run, even a failed one."""

    agent: Any
    endpoint: EndpointSettings = UNREACHABLE
    library: Library = field(default_factory=lambda: cast(Library, _NoLibrary()))
    settings: ResearchSettings = field(default_factory=ResearchSettings)
    context: ResearchContext = field(init=False)
    published: list[Body] = field(default_factory=list)
    kept: list[ContextUpdate] = field(default_factory=list)
    reasoning: str = ""

    @property
    def card(self) -> AgentCard:
        return cast(AgentCard, self.agent.card)

    async def run(
        self,
        context: ResearchContext,
        inputs: dict[str, Any] | None = None,
        *,
        instruction: str = "Do it.",
        step: str = "step",
        streams_claims: bool = False,
    ) -> ContextUpdate:
        """Run the agent with the fields its card declares and return its update."""
        self.context = context
        task = self._task(inputs or {}, instruction, step).model_copy(update={"streams_claims": streams_claims})
        agent = self._make()
        update = await agent.process(context.only(self.card.sees), task)
        self._merge(update)
        self.reasoning = agent.explain_reasoning()
        return update

    async def activates(self, context: ResearchContext) -> bool:
        """Return whether the agent finds anything to do."""
        return await self._make().should_activate(context.only(self.card.sees))

    def of_type(self, wanted: str) -> list[Any]:
        """Return the published events of this type, in order."""
        return [body for body in self.published if body.type == wanted]

    def _task(self, inputs: dict[str, Any], instruction: str, step: str) -> TaskData:
        card = self.card
        return task_data_type(card.name, card.inputs)(
            task_id=f"run/{step}",
            run_id="run",
            step=step,
            agent=card.name,
            instruction=instruction,
            inputs=card.inputs.model_validate(inputs),
        )

    def _make(self) -> Agent:
        package, _, stem = self.agent.__module__.rpartition(".")
        kit = AgentKit(
            llm=RunLLM(build_llm(self.endpoint), RunCalls(budget=self.settings.budget)),
            library=self.library,
            prompt=Prompt.find(package, stem),
            settings=self.settings,
            publish=self._publish,
            keep=self._keep,
            get_task_data=TaskStorage().reader_for(self.card.name),
        )
        return cast(Agent, self.agent(kit))

    async def _publish(self, body: Body) -> None:
        self.published.append(body)

    async def _keep(self, update: ContextUpdate) -> None:
        self.kept.append(update)
        self._merge(update)

    def _merge(self, update: ContextUpdate) -> None:
        self.context = merge(self.context, update, agent=self.card.name, writes=self.card.writes)


def make_context(question: str = "What is it?", **known: Any) -> ResearchContext:
    """Return a context with these fields."""
    understanding = Understanding(intent="to know", domain="any", requirements=("the fact",))
    return ResearchContext(question=question, understanding=understanding, **known)


def searched_for(*searched: str) -> tuple[Wording, ...]:
    """Return searches in all documents."""
    return tuple(Wording(words=each) for each in searched)


@contextmanager
def library_of(chunks: Sequence[Chunk], embedder: Embedder, folder: Path) -> Iterator[CollectionLibrary]:
    """Open a library over a real collection of these chunks in ``folder``."""
    spec = CollectionSpec(
        name="books", embedding_model=embedder.model, dimension=embedder.dimension, chunking="sections-v1/256"
    )
    names = {chunk.name: chunk.document_id for chunk in chunks}
    entries = [
        CatalogueEntry(name=name, id=names[name], chunks=sum(chunk.name == name for chunk in chunks))
        for name in sorted(names)
    ]
    with EdgeStore(folder).create(spec) as collection:
        if chunks:
            collection.upsert(chunks, embedder.embed_passages([chunk.embedded_text for chunk in chunks]))
        yield CollectionLibrary(spec.name, lambda: entries, Retriever(collection, embedder))

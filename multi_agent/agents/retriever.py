"""Retriever: finds passages, or reads all of them. Calls no model."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Literal

from pydantic import Field

from multi_agent.agent import AgentCard, AgentKit, Task
from multi_agent.context import ContextUpdate, ResearchContext
from multi_agent.errors import AgentError
from multi_agent.events import Searched
from vectorstore.models import Chunk, Value


class RetrieverInputs(Value):
    """What the planner decides about a retrieval."""

    method: Literal["search", "scan"] = Field(
        description="'search' finds the passages nearest to the queries: right for most questions. 'scan' reads every "
        "passage of every document: right only when the answer depends on all of them, as in 'list every …' or "
        "'how many …'; it costs a model call for every few passages"
    )


class Retriever:
    """Runs every query, and the question itself, through hybrid search and fuses the rankings; or scans."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Retriever",
        description="Finds the passages that the other agents read, by searching for the queries and the question "
        "itself, or by scanning everything.",
        capabilities=("search", "scan"),
        reads=frozenset({"queries"}),
        writes=frozenset({"chunks"}),
        inputs=RetrieverInputs,
    )

    def __init__(self, kit: AgentKit) -> None:
        self._kit = kit
        self._reasoning = ""

    async def should_activate(self, context: ResearchContext) -> bool:
        return True

    async def process(self, context: ResearchContext, task: Task) -> ContextUpdate:
        inputs = RetrieverInputs.model_validate(task.inputs.model_dump())
        queries = (context.question, *context.queries) if inputs.method == "search" else ()
        chunks = await (self._search(queries) if inputs.method == "search" else self._scan())
        documents = len({chunk.document_id for chunk in chunks})
        await self._kit.publish(
            Searched(method=inputs.method, queries=queries, chunks_found=len(chunks), documents_found=documents)
        )
        how = f"Searched with {len(queries)} queries" if queries else "Read everything"
        self._reasoning = f"{how}: {len(chunks)} passages of {documents} documents."
        return ContextUpdate(chunks=tuple(chunks))

    def explain_reasoning(self) -> str:
        return self._reasoning

    async def _search(self, queries: tuple[str, ...]) -> list[Chunk]:
        return await asyncio.to_thread(self._kit.library.search, queries, self._kit.settings.passages)

    async def _scan(self) -> list[Chunk]:
        limit = self._kit.settings.scan_limit
        total = await asyncio.to_thread(self._kit.library.count)
        if total.chunks > limit:
            raise AgentError(
                f"A scan would read {total.chunks} passages, over the limit of {limit}. Raise `research.scan_limit`, "
                "or ask about fewer documents."
            )
        return await asyncio.to_thread(self._kit.library.scan)

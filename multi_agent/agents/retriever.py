"""Retriever: finds passages, or reads all of them. Calls no model."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from multi_agent.agent import DOCUMENTS, AgentCard, AgentKit
from multi_agent.context import ContextUpdate, ResearchContext
from multi_agent.errors import AgentError
from multi_agent.events import Searched
from multi_agent.tasks import TaskData
from vectorstore.models import Chunk, Value


class RetrieverInputs(Value):
    """What the planner decides about a retrieval."""

    method: Literal["search", "scan"] = Field(
        description="'search' finds the passages that are nearest to the queries, in all documents: right where a few "
        "passages hold the answer. 'scan' reads every passage of `documents`: right where leaving out a passage could "
        "make the answer wrong, as in a ranking, count, total or complete list"
    )
    documents: tuple[str, ...] = Field(
        description="for 'scan': names of the documents to read, as listed; [] reads all of them, which takes a model "
        "call for every few passages. For 'search': []"
    )

    @field_validator("documents")
    @classmethod
    def _are_listed(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        known = (info.context or {}).get(DOCUMENTS)
        unknown = [name for name in names if known is not None and name not in known]
        if unknown:
            raise ValueError(f"there is no document named {', '.join(map(repr, unknown))}")
        return names


class Retriever:
    """Runs every query, and the question itself, through hybrid search and fuses the rankings; or scans."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Retriever",
        description="Finds the passages that the other agents read, by searching for the queries and the question "
        "itself, or by scanning everything.",
        capabilities=("search", "scan"),
        reads=frozenset({"queries"}),
        writes=frozenset({"chunks", "ranking"}),
        inputs=RetrieverInputs,
    )

    def __init__(self, kit: AgentKit) -> None:
        self._kit = kit
        self._reasoning = ""

    async def should_activate(self, context: ResearchContext) -> bool:
        return True

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = RetrieverInputs.model_validate(task.inputs.model_dump())
        queries = (context.question, *context.queries) if inputs.method == "search" else ()
        chunks = await (self._search(queries) if queries else self._scan(inputs.documents))
        documents = len({chunk.document_id for chunk in chunks})
        await self._kit.publish(
            Searched(method=inputs.method, queries=queries, chunks_found=len(chunks), documents_found=documents)
        )
        read = f"Read all of {', '.join(inputs.documents) or 'the collection'}"
        how = f"Searched with {len(queries)} queries" if queries else read
        self._reasoning = f"{how}: {len(chunks)} passages of {documents} documents."
        ranking = tuple(chunk.id for chunk in chunks) if queries else ()
        return ContextUpdate(chunks=tuple(chunks), ranking=ranking)

    def explain_reasoning(self) -> str:
        return self._reasoning

    async def _search(self, queries: tuple[str, ...]) -> list[Chunk]:
        return await asyncio.to_thread(self._kit.library.search, queries, self._kit.settings.passages)

    async def _scan(self, documents: tuple[str, ...]) -> list[Chunk]:
        library, limit = self._kit.library, self._kit.settings.scan_limit
        catalogue = await asyncio.to_thread(library.catalogue)
        passages = sum(entry.chunks for entry in catalogue if not documents or entry.name in documents)
        if passages > limit:
            raise AgentError(
                f"A scan would read {passages} passages, over the limit of {limit}. Raise `research.scan_limit`, or "
                "ask about fewer documents."
            )
        return await asyncio.to_thread(library.scan, documents)

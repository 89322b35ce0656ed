"""The Retriever, which searches for passages or scans all of them without a model."""

import asyncio
from typing import ClassVar, Literal, Self

from pydantic import Field

from base.counts import count
from base.models import FrozenModel
from multi_agent.agent import AgentCard, DocumentNames, StepAgent, StepOutput
from multi_agent.errors import AgentError
from multi_agent.grounding.asked import without_instruction
from multi_agent.library import within
from multi_agent.prompts.show_passages import fitted
from multi_agent.values.context import ContextUpdate, ResearchContext, Wording
from multi_agent.values.evidence_events import Searched
from multi_agent.values.tasks import TaskData


class RetrieverInputs(FrozenModel):
    """What the planner decides about a retrieval."""

    method: Literal["search", "scan"] = Field(
        description="'search' finds the passages nearest to the queries; 'scan' reads every passage of `documents`: "
        "for a ranking, count, total or complete list"
    )
    documents: DocumentNames = Field(description="names of the documents, as listed; [] for all")
    queries: tuple[str, ...] = Field(
        description="for 'search': queries besides the question; [] if a QueryPlanner writes them"
    )


class RetrieverOutput(StepOutput):
    """The output of a retrieval for later steps."""

    documents: tuple[str, ...] = Field(description="names of the documents found, best first")
    passages: int = Field(description="how many passages were found")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        names = dict.fromkeys(chunk.name for chunk in update.chunks)
        return cls(documents=tuple(names), passages=len(update.chunks))


class Retriever(StepAgent):
    """Searches with every new query and fuses the rankings, or scans documents."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Retriever",
        description="Finds the passages that other agents read: by a search for the question and all new queries, or "
        "by a scan of whole documents.",
        capabilities=("search", "scan"),
        reads=frozenset({"queries", "searched"}),
        writes=frozenset({"chunks", "ranking", "searched", "scanned", "passed_over"}),
        instructed=False,
        inputs=RetrieverInputs,
        asked=lambda _: RetrieverInputs(method="search", documents=(), queries=()),
        outputs=RetrieverOutput,
        searches=frozenset({"documents"}),
        listens_to=frozenset({"reasoning_shared:QueryPlanner"}),
    )

    async def should_activate(self, context: ResearchContext) -> bool:
        """Return whether to react. Reacts only to queries of a reaction, because other queries belong to a step."""
        return self._kit.wake is None or self._kit.wake.is_chained

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = RetrieverInputs.model_validate(task.inputs.model_dump())
        if self._kit.wake:  # a second search, in the same documents as the last one
            inputs = inputs.model_copy(update={"documents": context.searched[-1].documents})
        if inputs.method == "scan":
            return await self._scan(inputs.documents, context.question)
        return await self._search(_new_queries(context, inputs), inputs.documents)

    async def _search(self, queries: tuple[str, ...], documents: tuple[str, ...]) -> ContextUpdate:
        settings = self._kit.settings
        limit = min(settings.passages, settings.reader_passages) if self._kit.wake else settings.passages
        hits = await self._kit.search(queries, limit, documents)
        chunks = [fitted(hit.chunk, settings.tokens_per_call) for hit in hits]
        how = within(f"Searched with {len(queries)} queries", documents)
        await self._report(how, Searched.of(queries, documents, hits))
        return ContextUpdate(
            chunks=tuple(chunks),
            ranking=tuple(chunk.id for chunk in chunks),
            searched=tuple(Wording(words=query, documents=documents) for query in queries),
        )

    async def _scan(self, documents: tuple[str, ...], question: str) -> ContextUpdate:
        library, limit = self._kit.library, self._kit.settings.scan_limit
        catalogue = await asyncio.to_thread(library.catalogue)
        passages = sum(entry.chunks for entry in catalogue if not documents or entry.name in documents)
        if passages > limit:
            raise AgentError(
                f"A scan would read {passages} passages, over the limit of {limit}. Raise `research.scan_limit`, or "
                "ask about fewer documents."
            )
        whole = await asyncio.to_thread(library.scan, documents)
        chunks = [fitted(chunk, self._kit.settings.tokens_per_call) for chunk in whole]
        nearest = await asyncio.to_thread(library.search, (question,), self._kit.settings.passages)
        scanned = {chunk.id for chunk in chunks}
        # Half of the sample for later agents is chosen by similarity, because the question may be about a few of
        # hundreds of rows.
        ranking = [hit.chunk.id for hit in nearest if hit.chunk.id in scanned][
            : self._kit.settings.sample_passages // 2
        ]
        how = f"Read all of {', '.join(documents) or 'the collection'}"
        await self._report(how, Searched.of_scan(documents, chunks))
        names = tuple(dict.fromkeys(chunk.name for chunk in chunks))
        others = tuple(dict.fromkeys(hit.chunk.name for hit in nearest if hit.chunk.id not in scanned))
        return ContextUpdate(chunks=tuple(chunks), scanned=names, passed_over=others, ranking=tuple(ranking))

    async def _report(self, how: str, searched: Searched) -> None:
        await self._kit.publish(searched)
        found = f"{count(searched.chunks_found, 'passage')} of {count(searched.documents_found, 'document')}"
        self._reasoning = f"{how}: {found}."


def _new_queries(context: ResearchContext, inputs: RetrieverInputs) -> tuple[str, ...]:
    """Return the queries that were not yet searched in these documents. Raises AgentError if there are none."""
    others = (*context.queries, *inputs.queries)
    asked = dict.fromkeys((without_instruction(context.question, others), *others))
    known = {each.words for each in context.searched if each.documents == inputs.documents}
    new = tuple(query for query in asked if query not in known)
    if not new:
        raise AgentError("Every query was searched before; new ones are needed, from a QueryPlanner or as inputs.")
    return new

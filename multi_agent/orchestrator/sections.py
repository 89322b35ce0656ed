"""The sections of a report. A run of its own researches each, and the run of the report uses its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.errors import BudgetReached
from multi_agent.llm.wrappers.usage import BUDGET_REACHED, BudgetUsage
from multi_agent.model import LLM
from multi_agent.orchestrator.planning.dependencies import RunDependencies
from multi_agent.prompt import Prompt
from multi_agent.settings.research import Budget
from multi_agent.values.answer import Answer, Computed, Quote, Status
from multi_agent.values.context import Computation, ContextUpdate, Evidence, Finding, Synthesis
from multi_agent.values.events import Event, StepFinished, StepStarted
from multi_agent.values.report import MOST_SECTIONS, PlannedSection
from multi_agent.values.request import Request
from vectorstore.models import Chunk, ChunkKind, PageSpan, TableHeader

AGENT = "Section"
"""The agent of the steps that stand for the runs of sections."""
_AT_A_TIME = 3


class OutlineSection(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=200)
    question: str = Field(min_length=1, max_length=2_000)


class Outline(BaseModel):
    model_config = ConfigDict(extra="forbid")

    sections: list[OutlineSection] = Field(min_length=1, max_length=MOST_SECTIONS)


async def propose_outline(llm: LLM, question: str, documents: str, today: str) -> tuple[PlannedSection, ...]:
    """Return the outline that the model proposes. Raises LLMError."""
    messages = Prompt.shipped("outline").render(question=question, documents=documents, today=today)
    outline = (await llm.complete(messages, Outline)).value
    return tuple(PlannedSection(title=each.title, question=each.question) for each in outline.sections)


class ResearchedSection(NamedTuple):
    """A section with the answer of its run."""

    planned: PlannedSection
    answer: Answer

    @property
    def answered(self) -> bool:
        return self.answer.status in (Status.ANSWERED, Status.PARTIAL)


Research = Callable[..., Awaitable[Answer]]
"""Researches a request, like ``Orchestrator.research``."""
PublishStep = Callable[..., Awaitable[Event]]
"""Publishes an event of a step, like ``MessageBus.publish``."""


class Sections:
    """Researches the sections of a report, some at a time. ``done`` has those that have ended.

    A section whose run has ended is not researched again, so a resumed report pays for the others only.
    """

    def __init__(
        self, dependencies: RunDependencies, request: Request, run_id: str, spent: BudgetUsage, research: Research,
        pausing: Callable[[], bool], publish: PublishStep,
    ) -> None:  # fmt: skip
        self._trace = dependencies.trace
        self._collection, self._model = dependencies.library.collection, dependencies.models.get(request.model).model
        self._request, self._budget = request, request.budget or dependencies.settings.budget
        self._id, self._spent = run_id, spent
        self._research_run, self._pausing, self._publish = research, pausing, publish
        self._places = asyncio.Semaphore(_AT_A_TIME)
        self._open = 0
        self.done: list[ResearchedSection] = []

    @property
    def cited(self) -> list[str]:
        """The ids of the documents of the collection that the sections cite."""
        quotes = (quote for each in self.done for quote in each.answer.cited)
        return sorted({quote.document_id for quote in quotes if quote.origin is None})

    async def research(self, outline: Sequence[PlannedSection]) -> None:
        """Research all sections. Raises BudgetReached, and AgentError for a request that no run can execute."""
        root = (self._request.fork.run_id if self._request.fork else self._id).removeprefix("run_")
        runs = [each.run or f"section_{number}_{root}" for number, each in enumerate(outline, start=1)]
        self._open = len(outline)
        for number, (planned, run_id) in enumerate(zip(outline, runs, strict=True), start=1):
            inputs = {"question": self._question(planned), "run": run_id}
            started = StepStarted(agent=AGENT, instruction=planned.title, reads=(), inputs=inputs)
            await self._publish(started, step=f"section_{number}")
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(*each)) for each in zip(outline, runs, strict=True)]
                for number, (planned, task) in enumerate(zip(outline, tasks, strict=True), start=1):
                    answer = await task
                    self.done.append(ResearchedSection(planned, answer))
                    wrote = {"run": answer.run_id, "status": answer.status.value, "claims": len(answer.claims)}
                    finished = StepFinished(agent=AGENT, wrote=wrote, seconds=answer.usage.seconds)
                    await self._publish(finished, step=f"section_{number}")
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _one(self, planned: PlannedSection, run_id: str) -> Answer:
        async with self._places:
            answer = await asyncio.to_thread(self._trace.answer if planned.run else self._trace.ended_answer, run_id)
            if answer is None:
                request = self._request_of(planned)
                key = (await asyncio.to_thread(self._trace.run, self._id)).key
                created = (run_id, request, self._collection, self._model, key)
                await asyncio.to_thread(self._trace.create, *created)
                answer = await self._research_run(request, run_id=run_id, pausing=self._pausing)
            self._open -= 1
            if not planned.run:
                self._spent.usage += answer.usage
            return answer

    def _question(self, planned: PlannedSection) -> str:
        return planned.question.strip() or f"{self._request.question} – {planned.title}"

    def _request_of(self, planned: PlannedSection) -> Request:
        """Return the request of a section. It belongs to no conversation and asks nothing back."""
        own = {"report": None, "fork": None, "session": "", "conversation": (), "continues": "", "complete": True}
        return self._request.model_copy(update={**own, "question": self._question(planned), "budget": self._share()})

    def _share(self) -> Budget:
        """Return the budget of the next section: what is left, divided by what is still to be written."""
        used, parts = self._spent.usage, self._open + 1  # the summary is to be written, too
        gone = {"model_calls": used.model_calls, "tokens": used.prompt_tokens + used.completion_tokens}
        spent = {**gone, "cost": used.cost or 0.0, "seconds": self._spent.seconds}
        limits = {name: limit for name, limit in dict(self._budget).items() if limit is not None}
        shares = {
            name: type(limit)((limit - spent[name]) / (1 if name == "seconds" else parts))
            for name, limit in limits.items()
        }
        for name, share in shares.items():
            if share <= 0:
                raise BudgetReached(f"{BUDGET_REACHED} {limits[name]:,} {name.replace('_', ' ')} is used up.")
        return Budget.model_validate(shares)


def findings_of(done: Sequence[ResearchedSection], stored: Mapping[str, Chunk]) -> ContextUpdate:
    """Return what the sections found, as a step of their run would have written it.

    ``stored`` has the passages of the collection by id. They give each quote its title and the head of its table.
    """
    quotes = [(quote, _evidence(quote)) for each in done for quote in each.answer.cited]
    return ContextUpdate(
        chunks=tuple(_passage(quote, item, stored.get(quote.chunk_id)) for quote, item in quotes),
        evidence=tuple(item for _, item in quotes),
        computations=tuple(_computation(computed) for each in done for computed in each.answer.computations),
        findings=tuple(_finding(f"section_{number}", each) for number, each in enumerate(done, start=1)),
    )


def _evidence(quote: Quote) -> Evidence:
    own = {"name": quote.document, "chunk_id": f"{quote.chunk_id}/{quote.start}"}
    shared = {name: value for name, value in quote if name in Evidence.model_fields}
    return Evidence(**{**shared, **own})


def _passage(quote: Quote, item: Evidence, stored: Chunk | None) -> Chunk:
    """Return a passage that has only the quote as text. It gets title and table head from the stored passage."""
    same = quote.model_dump(include={"document_id", "document", "start", "section", "origin"})
    end = quote.start + len(quote.quote)
    pages = tuple(PageSpan(number=page, start=quote.start, end=end) for page in quote.pages)
    own = {"id": item.chunk_id, "name": quote.document, "version": "", "index": 0, "text": quote.quote}
    around = {"title": stored.title, "header": _head(stored)} if stored else {}
    return Chunk(**same, **own, **around, end=end, page_spans=pages)


def _head(passage: Chunk) -> TableHeader | None:
    if passage.header or passage.kind is not ChunkKind.TABLE:
        return passage.header
    row = next((line for line in passage.text.splitlines() if line.startswith("|")), "")
    start = passage.start + passage.text.index(row)
    return TableHeader(text=row, start=start, end=start + len(row)) if row else None


def _computation(computed: Computed) -> Computation:
    return Computation(**{**dict(computed), "evidence": tuple(map(_evidence, computed.evidence))})


def _finding(step: str, section: ResearchedSection) -> Finding:
    answer = section.answer
    same = {name: getattr(answer, name) for name in ("claims", "short", "layout", "confidence", "reasoning")}
    searched = {name: getattr(answer, name) for name in ("looked_for", "found", "missing")}
    evidence = tuple(map(_evidence, answer.cited))
    synthesis = Synthesis(**same, **searched, evidence=evidence, sufficient=section.answered)
    return Finding(step=step, question=f"{section.planned.title}: {answer.question}", synthesis=synthesis)

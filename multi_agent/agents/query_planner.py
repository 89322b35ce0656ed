"""QueryPlanner: turns the question into search queries."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.agent import AgentCard, AgentKit
from multi_agent.context import ContextUpdate, ResearchContext
from multi_agent.reading import bullets
from multi_agent.tasks import TaskData


class Queries(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    queries: list[str] = Field(min_length=3, max_length=6, description="the search queries")
    reasoning: str = Field(description="why these wordings, in one or two sentences")


class QueryPlanner:
    """Words the question in the ways in which documents might answer it."""

    card: ClassVar[AgentCard] = AgentCard(
        name="QueryPlanner",
        description="Turns the question into search queries: synonyms, technical and colloquial wordings, parts.",
        capabilities=("query expansion", "search preparation"),
        writes=frozenset({"queries"}),
    )

    def __init__(self, kit: AgentKit) -> None:
        self._kit = kit
        self._reasoning = ""

    async def should_activate(self, context: ResearchContext) -> bool:
        return True

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        messages = self._kit.require_prompt().render(
            question=context.question,
            intent=context.understanding.intent,
            domain=context.understanding.domain,
            requirements=bullets(context.understanding.requirements),
            instruction=task.instruction,
        )
        response = (await self._kit.llm.complete(messages, Queries)).value
        self._reasoning = f"Searching for {'; '.join(response.queries)}. {response.reasoning}"
        return ContextUpdate(queries=tuple(response.queries))

    def explain_reasoning(self) -> str:
        return self._reasoning

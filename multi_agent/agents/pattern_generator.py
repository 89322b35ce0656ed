"""PatternGenerator: writes strategies, and the fields of records, for reading these passages for this question."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.agent import AgentCard, AgentKit
from multi_agent.context import ContextUpdate, Inspection, RecordField, ResearchContext, Strategy
from multi_agent.reading import bullets, sample, show_passages
from multi_agent.tasks import TaskData


class Patterns(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    strategies: list[Strategy] = Field(min_length=1, max_length=6)
    record_fields: list[RecordField] = Field(
        max_length=8, description="the fields of one record, if rows are to be compared or computed with; else []"
    )
    reasoning: str = Field(description="why these strategies suit this question and these passages")


class PatternGenerator:
    """Says how to recognise what the question needs, from the same sample that was inspected."""

    card: ClassVar[AgentCard] = AgentCard(
        name="PatternGenerator",
        description="Writes extraction strategies for these passages and this question, and names the fields of "
        "records where rows have to be ranked, counted, summed or compared.",
        capabilities=("extraction strategies", "record design"),
        requires=frozenset({"inspection", "chunks"}),
        reads=frozenset({"ranking"}),
        writes=frozenset({"strategies", "record_fields"}),
    )

    def __init__(self, kit: AgentKit) -> None:
        self._kit = kit
        self._reasoning = ""

    async def should_activate(self, context: ResearchContext) -> bool:
        return context.inspection is not None

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        shown = sample(context.chunks, context.ranking, self._kit.settings.sample_passages)
        messages = self._kit.require_prompt().render(
            question=context.question,
            intent=context.understanding.intent,
            requirements=bullets(context.understanding.requirements),
            instruction=task.instruction,
            inspection=_show(context.inspection),
            shown=len(shown),
            total=len(context.chunks),
            passages=show_passages(shown),
        )
        response = (await self._kit.llm.complete(messages, Patterns)).value
        names = ", ".join(field.name for field in response.record_fields)
        self._reasoning = response.reasoning + (f" Record fields: {names}." if names else "")
        return ContextUpdate(strategies=tuple(response.strategies), record_fields=tuple(response.record_fields))

    def explain_reasoning(self) -> str:
        return self._reasoning


def _show(inspection: Inspection | None) -> str:
    if inspection is None:
        return "-"
    return (
        f"Format: {inspection.format}\nStructure: {inspection.structure}\n"
        f"Quality problems:\n{bullets(inspection.quality_problems)}\nMissing:\n{bullets(inspection.missing)}"
    )

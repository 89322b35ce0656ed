"""PatternGenerator: writes extraction strategies and record fields for these passages and this question."""

from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from multi_agent.agent import AgentCard, StepAgent, StepOutput
from multi_agent.prompts.show_passages import bullets, sample_passages, show_passages, unread_passages
from multi_agent.values.context import ContextUpdate, Inspection, RecordField, ResearchContext, Strategy
from multi_agent.values.tasks import TaskData


class Patterns(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    strategies: list[Strategy] = Field(min_length=1, max_length=6)
    record_fields: list[RecordField] = Field(
        max_length=10, description="the columns of a table of records, if rows are to be computed with; else []"
    )
    reasoning: str = Field(description="why these strategies suit this question and these passages")

    @field_validator("record_fields")
    @classmethod
    def _require_unique_names(cls, fields: list[RecordField]) -> list[RecordField]:
        names = [field.name for field in fields]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"every field needs a name of its own; used twice: {', '.join(twice)}")
        return fields


class PatternGeneratorOutput(StepOutput):
    """What later steps can use of it."""

    fields: tuple[str, ...] = Field(description="names of the record fields; none if no records are wanted")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        return cls(fields=tuple(field.name for field in update.record_fields))


class PatternGenerator(StepAgent):
    """Describes how to find what the question needs, from the same sample as the DataInspector."""

    card: ClassVar[AgentCard] = AgentCard(
        name="PatternGenerator",
        description="Says how to recognise in these passages what the question needs, and names the fields of the "
        "records that the Extractor fills and the Analyst computes with.",
        capabilities=("extraction strategies", "record design"),
        requires=frozenset({"inspection", "chunks"}),
        reads=frozenset({"ranking", "read"}),
        writes=frozenset({"strategies", "record_fields"}),
        outputs=PatternGeneratorOutput,
    )

    async def should_activate(self, context: ResearchContext) -> bool:
        return context.inspection is not None

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        unread, settings = unread_passages(context.chunks, context.read), self._kit.settings
        shown = sample_passages(unread, context.ranking, settings.sample_passages, settings.tokens_per_call)
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


def _show(inspection: Inspection | None) -> str:
    if inspection is None:
        return "-"
    return (
        f"Format: {inspection.format}\nStructure: {inspection.structure}\n"
        f"Quality problems:\n{bullets(inspection.quality_problems)}\nMissing:\n{bullets(inspection.missing)}"
    )

"""The DataInspector, which describes the retrieved passages for the agents that read them."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from base.models import FrozenModel
from multi_agent.agent import AgentCard, StepAgent
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets, sample_passages, show_passages, unread_passages
from multi_agent.values.context import ContextUpdate, Inspection, ResearchContext
from multi_agent.values.evidence_events import MissingReported
from multi_agent.values.tasks import TaskData


class InspectionResponse(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    format: str = Field(description="what forms the passages have: tables, prose, lists, …")
    structure: str = Field(description="how they are organised: columns of tables as headed, parts of prose")
    quality_problems: list[str] = Field(description="what makes them hard to read or doubtful; [] if nothing")
    missing: list[str] = Field(description="what your task needs and the passages do not show; [] if nothing")
    reasoning: str = Field(description="what follows from this for answering the question, in one or two sentences")


_FOCUS = {
    "consistency": "whether units, dates and names are written alike in all passages",
    "conflicts": "values that disagree between passages, with their documents",
    "gaps": "what the question needs and no passage shows",
}


class DataInspectorInputs(FrozenModel):
    """The inputs that a saved plan can set."""

    focus: tuple[Literal["consistency", "conflicts", "gaps"], ...] = Field(
        default=(), description="what to look at above all; empty for everything alike"
    )


class DataInspector(StepAgent):
    """Describes a sample of the unread passages.

    After a search, the sample contains the best passages. After a scan, it contains evenly spaced passages.
    """

    card: ClassVar[AgentCard] = AgentCard(
        name="DataInspector",
        description="Describes format, structure and quality of a sample of the passages, for the PatternGenerator.",
        capabilities=("data inspection", "quality assessment"),
        requires=frozenset({"chunks"}),
        reads=frozenset({"ranking", "read"}),
        writes=frozenset({"inspection"}),
        inputs=DataInspectorInputs,
        planned_inputs=False,
    )

    async def should_activate(self, context: ResearchContext) -> bool:
        """Return whether there are unread passages. Passages that were read need no inspection."""
        known = {mark.partition("/")[0] for mark in context.read}
        return any(chunk.id not in known for chunk in context.chunks)

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        unread, settings = unread_passages(context.chunks, context.read), self._kit.settings
        shown = sample_passages(unread, context.ranking, settings.sample_passages, settings.tokens_per_call)
        messages = self._kit.require_prompt().render(
            question=context.question,
            requirements=bullets(context.understanding.requirements),
            instruction=_instruction(task),
            shown=len(shown),
            total=len(context.chunks),
            passages=show_passages(shown),
        )
        response = (await self._kit.llm.complete(messages, InspectionResponse)).value
        if response.missing:
            await self._kit.publish(MissingReported(agent=self.card.name, missing=tuple(response.missing)))
        self._reasoning = f"{response.format.rstrip('.')}. {response.reasoning}"
        return ContextUpdate(inspection=Inspection(**response.model_dump(exclude={"reasoning"})))


def _instruction(task: TaskData) -> str:
    focus = DataInspectorInputs.model_validate(task.inputs.model_dump()).focus
    wanted = f" {Prompt.part('inspection_focus', focus='; '.join(map(_FOCUS.__getitem__, focus)))}" if focus else ""
    return f"{task.instruction}{wanted}"

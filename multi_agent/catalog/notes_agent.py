"""The class of custom agents that give notes and have no tools."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.agent import AgentCard, AgentKit, StepOutput
from multi_agent.catalog.placeholders import PLACEHOLDERS
from multi_agent.model import Message
from multi_agent.values.context import ContextUpdate, Note, ResearchContext
from multi_agent.values.tasks import TaskData


class Remarks(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    reasoning: str = Field(description="what you looked at and what follows from it, in one or two sentences")
    notes: list[str] = Field(description="what you have to say, one item each, complete in itself; [] if nothing")


class NotesOutput(StepOutput):
    """The output of notes for later steps."""

    notes: str = Field(description="what it noted; none if it had nothing to say")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        found = (claim for finding in update.findings for claim in finding.synthesis.claims if claim.stands)
        return cls(notes="; ".join((*(claim.text for claim in found), *(note.text for note in update.notes))))


def render_prompt(kit: AgentKit, context: ResearchContext, instruction: str) -> list[Message]:
    """Return the prompt of a custom agent with its placeholders filled in."""
    prompt = kit.require_prompt()
    shown = {name: PLACEHOLDERS[name].render(context, instruction, kit.settings) for name in prompt.placeholders}
    return prompt.render(**shown)


class NotesAgent:
    """Writes notes for the agent that writes the answer. The prompt defines the inputs. Each agent has a subclass."""

    card: ClassVar[AgentCard]

    def __init__(self, kit: AgentKit) -> None:
        self._kit = kit
        self._reasoning = ""

    async def should_activate(self, context: ResearchContext) -> bool:
        """Return True, because a person or the planner chose the agent and only its prompt defines its inputs."""
        return True

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        messages = render_prompt(self._kit, context, task.instruction)
        response = (await self._kit.llm.complete(messages, Remarks)).value
        self._reasoning = response.reasoning
        return ContextUpdate(notes=tuple(Note(agent=self.card.name, text=text) for text in response.notes))

    def explain_reasoning(self) -> str:
        return self._reasoning

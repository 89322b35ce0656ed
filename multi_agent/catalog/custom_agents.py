"""Builds agents from catalog entries, with a card, a class, and a prompt with a section for each skill."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.agent import AgentCard, AgentKit, StepAgent, StepOutput
from multi_agent.agents.reader import Reader, ReaderInputs
from multi_agent.agents.tool_findings import find_with_tools
from multi_agent.catalog.entries import CustomAgent, Skill
from multi_agent.catalog.placeholders import PLACEHOLDERS
from multi_agent.catalog.registry import RegisteredAgent
from multi_agent.errors import AgentError
from multi_agent.grounding.written_answer import describe_answer
from multi_agent.model import Message
from multi_agent.prompt import OpenPrompt, Prompt
from multi_agent.values.context import ContextUpdate, Note, ResearchContext, Synthesis
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


class NotesAgent(StepAgent):
    """Writes notes for the agent that writes the answer. The prompt defines the inputs. Each agent has a subclass."""

    card: ClassVar[AgentCard]

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        messages = render_prompt(self._kit, context, task.instruction)
        response = (await self._kit.llm.complete(messages, Remarks)).value
        self._reasoning = response.reasoning
        return ContextUpdate(notes=tuple(Note(agent=self.card.name, text=text) for text in response.notes))


FINDINGS = frozenset({"chunks", "evidence", "findings", "notes"})
"""The context fields that the agent writes."""


class FindingsAgent(Reader):
    """Calls its tools and writes claims from their results. Claims without evidence become notes."""

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        kit, question = self._kit, task.instruction or context.question
        messages = render_prompt(kit, context, task.instruction)
        inputs = ReaderInputs(question=question, queries=())
        update = await find_with_tools(self, kit, await kit.tools(), messages, task, inputs, needs_tools=False)
        synthesis = update.findings[0].synthesis
        self._reasoning = describe_answer(question, synthesis)
        return update.model_copy(update={"notes": self._notes(synthesis)})

    def _notes(self, synthesis: Synthesis) -> tuple[Note, ...]:
        unsupported = (claim.text for claim in synthesis.claims if not claim.stands)
        return tuple(Note(agent=self.card.name, text=text) for text in unsupported)


PromptT = TypeVar("PromptT", bound=Prompt)


def build_agent(agent: CustomAgent, skills: Mapping[str, Skill]) -> RegisteredAgent:
    """Build a custom agent. Raises AgentError for a skill that does not exist."""
    answers = agent.gives == "answer"
    prompt = OpenPrompt(agent.name, agent.prompt)
    base: type[Any]
    tools = add_tools(agent.tools, agent.skills, skills)
    # An agent that answers has the inputs and outputs of the Reader, so that both can vote.
    card = Reader.card.model_copy(update=_described(agent)) if answers else _notes_card(agent, prompt)
    card = card.model_copy(update={"tools": tools, "skills": agent.skills})
    if answers:
        base, rules = Reader, "custom_answer"
    elif tools:
        base, rules = FindingsAgent, "custom_findings"
        card = card.model_copy(update={"writes": FINDINGS})
    else:
        base, rules = NotesAgent, "custom_notes"
    prompt = add_skills(prompt.with_sections(Prompt.part(rules)), agent.name, agent.skills, skills)
    make = type(agent.name, (base,), {"card": card})
    return RegisteredAgent(card=card, make=cast(Any, make), prompt=prompt)


def add_tools(own: Sequence[str], names: Sequence[str], skills: Mapping[str, Skill]) -> tuple[str, ...]:
    """Return the tools of an agent and of its skills. Skips unknown skills, which ``add_skills`` reports."""
    return tuple(dict.fromkeys((*own, *(tool for name in names if name in skills for tool in skills[name].tools))))


def add_skills(prompt: PromptT, agent: str, names: Sequence[str], skills: Mapping[str, Skill]) -> PromptT:
    """Return the prompt with a section for each skill. Raises AgentError for a skill that does not exist."""
    for name in names:
        if name not in skills:
            raise AgentError(
                f"The agent {agent} uses the skill {name!r}, which does not exist. Add the skill, or remove it from "
                "the agent."
            )
    sections = [Prompt.part("skill", name=name, instructions=skills[name].instructions) for name in names]
    return prompt.with_sections(*sections) if sections else prompt


def _notes_card(agent: CustomAgent, prompt: Prompt) -> AgentCard:
    reads = frozenset().union(*(PLACEHOLDERS[name].reads for name in prompt.placeholders))
    talks = agent.gives == "talk"
    fields = {**_described(agent), "planned": not talks, "talks": talks}
    return AgentCard(reads=reads, writes=frozenset({"notes"}), outputs=NotesOutput, **fields)


def _described(agent: CustomAgent) -> dict[str, Any]:
    return {
        "name": agent.name,
        "description": agent.description,
        "capabilities": agent.capabilities,
        "model": agent.model,
        "weight": agent.weight,
        "reads_memory": agent.reads_memory,
        "listens_to": frozenset(agent.listens_to),
    }

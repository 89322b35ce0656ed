"""Agents, skills and options as data.

The prompt of a custom agent has the two parts of every prompt file, with placeholders for the agent's inputs:

    # System
    You know contracts. You look for what the question forgets.
    # User
    $question

    What was found so far:
    $evidence

An agent that gives ``notes`` informs the agent that writes the answer. An agent that gives an ``answer`` works like the
Reader. It searches the documents and answers with verified quotes, can be asked directly, and can vote.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from base.models import FrozenModel
from multi_agent.catalog.placeholders import ANSWER_PLACEHOLDERS, PLACEHOLDERS
from multi_agent.errors import AgentError
from multi_agent.prompt import Prompt
from multi_agent.settings.research import SUPERVISORS
from multi_agent.values.tasks import Listened

AgentName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z0-9]{1,39}$")]
SkillName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{1,39}$")]


class Entry(FrozenModel):
    """A catalog entry with a name."""

    name: str


class CustomAgent(Entry):
    """An agent described as data."""

    name: AgentName = Field(description="its name in plans and traces", examples=["Lawyer"])
    description: str = Field(
        min_length=1,
        max_length=2000,
        description="what it does and when to use it, for the planner",
        examples=["Knows contracts. Notes which clauses bear on the question."],
    )
    gives: Literal["notes", "answer", "talk"] = Field(
        default="notes",
        description="notes for the agent that writes the answer, an answer with quotes from the documents, or talk "
        "without claims, only if a person asks it",
    )
    prompt: str = Field(
        max_length=50_000,
        description="Markdown with the parts '# System' and '# User', and $placeholders for its inputs",
        examples=["# System\nYou know contracts.\n# User\n$question\n\n$evidence"],
    )
    capabilities: tuple[str, ...] = Field(default=(), description="capabilities in a few words each, for the planner")
    model: str = Field(default="", description="named model endpoint; empty for the default one")
    weight: float | None = Field(
        default=1.0, ge=0, le=1000, description="weight of its vote; null ('none' in a file) for unweighted votes"
    )
    tools: tuple[str, ...] = Field(default=(), description="tools that it may call")
    listens_to: tuple[Listened, ...] = Field(
        default=(),
        description="event types of all agents or of one agent that it receives and reacts to",
        examples=[["missing_reported", "reasoning_shared:Extractor"]],
    )
    skills: tuple[SkillName, ...] = Field(default=(), description="its skills; it may also call their tools")
    reads_memory: bool = Field(
        default=False, description="whether its prompt contains notes, tool use and plans from similar questions"
    )
    enabled: bool = Field(default=True, description="whether plans may use it")

    @field_validator("weight", mode="before")
    @classmethod
    def _parse_none(cls, value: object) -> object:
        """Parse "none" as None, since TOML has no null."""
        return None if value == "none" else value

    @field_validator("prompt")
    @classmethod
    def _normalize_lines(cls, value: str) -> str:
        return "\n".join(value.strip().splitlines()) + "\n"

    @model_validator(mode="after")
    def _check_prompt(self) -> CustomAgent:
        if self.name in SUPERVISORS:
            raise ValueError(f"{self.name!r} is a part of the supervisor, choose another name")
        try:
            named = Prompt(self.name, self.prompt).placeholders
        except AgentError as error:
            raise ValueError(str(error)) from error
        allowed = ANSWER_PLACEHOLDERS if self.gives == "answer" else frozenset(PLACEHOLDERS)
        if unknown := sorted(named - allowed):
            known = ", ".join(f"${name}" for name in sorted(allowed))
            raise ValueError(
                f"the prompt contains {', '.join(f'${name}' for name in unknown)}, but an agent that gives "
                f"{self.gives} can use only {known} (write a literal dollar as $$)"
            )
        if not named & {"question", "instruction"}:
            raise ValueError("the prompt must contain $question or $instruction, so that the agent knows its task")
        return self


class Skill(Entry):
    """Named instructions and tools that agents can use."""

    name: SkillName = Field(examples=["plain-words"])
    description: str = Field(
        default="",
        max_length=2000,
        description="purpose of the skill, for people only",
        examples=["How we write to customers"],
    )
    instructions: str = Field(
        min_length=1,
        max_length=50_000,
        description="Markdown, added as a section at the end of the agent's instructions",
        examples=["Write short sentences. Explain every technical term when it is first used."],
    )
    tools: tuple[str, ...] = Field(default=(), description="tools that an agent with this skill may call")


class AgentOptions(FrozenModel):
    """The changeable settings of an agent."""

    enabled: bool = True
    model: str = Field(default="", description="named model endpoint; empty for the one in the settings")
    skills: tuple[SkillName, ...] = ()

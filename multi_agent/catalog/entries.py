"""An agent as data: what the planner reads of it, its prompt, and what it may ask, use and give.

Its prompt has the two parts of every prompt file, and names what it wants to be shown; it sees nothing else:

    # System
    You know contracts. You look for what the question forgets.
    # User
    $question

    What was found so far:
    $evidence

An agent that gives ``notes`` says something to whoever writes the answer. One that gives an ``answer`` searches the
documents for its question and answers it with quotes that are verified, as the Reader does; so it can be asked
directly, take a whole question, and vote with others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from multi_agent.context import ResearchContext
from multi_agent.errors import AgentError
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_evidence import citable, show_computations, show_evidence, show_findings, show_records
from multi_agent.prompts.show_passages import bullets, in_order, packs, sample, show_passages
from multi_agent.settings import SUPERVISORS, ResearchSettings
from vectorstore.models import FrozenModel

AgentName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z0-9]{1,39}$")]
SkillName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{1,39}$")]

READER_SEES = frozenset({"whole", "intent", "requirements", "question", "instruction", "searched", "passages"})
"""What the prompt of an agent that answers may name. ``question`` is what it is given, ``whole`` the person's."""


class Entry(FrozenModel):
    """What is kept under a name."""

    name: str


class CustomAgent(Entry):
    """An agent that a person described."""

    name: AgentName = Field(description="as plans and traces name it", examples=["Lawyer"])
    description: str = Field(
        min_length=1,
        max_length=2000,
        description="what it does and when to use it: the planner reads this",
        examples=["Knows contracts. Notes which clauses bear on the question."],
    )
    gives: Literal["notes", "answer"] = Field(
        default="notes", description="notes for whoever writes the answer; or an answer with quotes from the documents"
    )
    prompt: str = Field(
        max_length=50_000,
        description="Markdown with a part '# System' and a part '# User', and $placeholders for what it is shown",
        examples=["# System\nYou know contracts.\n# User\n$question\n\n$evidence"],
    )
    capabilities: tuple[str, ...] = Field(default=(), description="in a few words each, for the planner")
    model: str = Field(default="", description="named endpoint that it asks; empty for the default one")
    weight: float | None = Field(
        default=1.0, ge=0, le=1000, description="of its vote; null ('none' in a file) leaves it to the number of votes"
    )
    tools: tuple[str, ...] = Field(default=(), description="tools that it may call, and no others")
    skills: tuple[SkillName, ...] = Field(default=(), description="skills that it is given, with their tools")
    enabled: bool = Field(default=True, description="whether plans may use it")

    @field_validator("weight", mode="before")
    @classmethod
    def _none_in_words(cls, value: object) -> object:
        """TOML has no null."""
        return None if value == "none" else value

    @field_validator("prompt")
    @classmethod
    def _with_plain_lines(cls, value: str) -> str:
        return "\n".join(value.strip().splitlines()) + "\n"

    @model_validator(mode="after")
    def _can_be_asked(self) -> CustomAgent:
        if self.name in SUPERVISORS:
            raise ValueError(f"{self.name!r} is a part of the supervisor; take another name")
        try:
            named = Prompt(self.name, self.prompt).placeholders
        except AgentError as error:
            raise ValueError(str(error)) from error
        allowed = READER_SEES if self.gives == "answer" else frozenset(SHOWN)
        if unknown := sorted(named - allowed):
            known = ", ".join(f"${name}" for name in sorted(allowed))
            raise ValueError(
                f"the prompt names {', '.join(f'${name}' for name in unknown)}; an agent that gives {self.gives} can "
                f"be shown {known} (a literal dollar is $$)"
            )
        if not named & {"question", "instruction"}:
            raise ValueError("the prompt has to name $question or $instruction, or the agent does not know its task")
        return self


class Skill(Entry):
    """Instructions and tools that agents can be given together."""

    name: SkillName = Field(examples=["plain-words"])
    description: str = Field(
        default="", max_length=2000, description="what it is for, for people", examples=["How we write to customers"]
    )
    instructions: str = Field(
        min_length=1,
        max_length=50_000,
        description="Markdown: stands in a section of its own at the end of the agent's instructions",
        examples=["Write short sentences. Explain every technical term when it is first used."],
    )
    tools: tuple[str, ...] = Field(default=(), description="tools that an agent with it may call")


class Choice(FrozenModel):
    """What a person chose for an agent whose code and prompt are given."""

    enabled: bool = True
    model: str = Field(default="", description="named endpoint that it asks; empty for what the settings say")
    skills: tuple[SkillName, ...] = ()


# What an agent that gives notes can be shown

Show = Callable[[ResearchContext, str, ResearchSettings], str]


def _passages(context: ResearchContext, _: str, settings: ResearchSettings) -> str:
    """The best that one call can read."""
    best = sample(context.chunks, context.ranking, settings.reader_passages)
    shown = next(packs(best, most=settings.reader_passages, tokens=settings.tokens_per_call), ())
    return show_passages(in_order(shown)) or "None was found."


def _evidence(context: ResearchContext, _: str, settings: ResearchSettings) -> str:
    return show_evidence(context, citable(context, settings.records_shown))


def _notes(context: ResearchContext, _: str, __: ResearchSettings) -> str:
    return bullets([f"{note.agent}: {note.text}" for note in context.notes])


SHOWN: Mapping[str, tuple[frozenset[str], Show]] = {
    "question": (frozenset(), lambda context, _, __: context.question),
    "intent": (frozenset(), lambda context, _, __: context.understanding.intent),
    "requirements": (frozenset(), lambda context, _, __: bullets(context.understanding.requirements)),
    "instruction": (frozenset(), lambda _, instruction, __: instruction),
    "passages": (frozenset({"chunks", "ranking"}), _passages),
    "evidence": (frozenset({"chunks", "evidence"}), _evidence),
    "computations": (frozenset({"computations", "evidence"}), lambda context, _, __: show_computations(context)),
    "records": (frozenset({"chunks", "evidence", "records"}), lambda context, _, __: show_records(context)),
    "findings": (frozenset({"evidence", "findings"}), lambda context, _, __: show_findings(context)),
    "notes": (frozenset({"notes"}), _notes),
}
"""By placeholder: the fields of the context that it takes, and how they are shown."""

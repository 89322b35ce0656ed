"""The contract of an agent, and what an agent is given to work with. Implementations: one file each in ``agents/``.

A new agent is a new file in an agents package, with a class like this, and its prompt in the ``prompts`` folder
beside that package; nothing else changes:

    class Translator:
        card = AgentCard(name="Translator", description="…", capabilities=("translation",),
                         requires={"chunks"}, writes={"notes"})

        def __init__(self, kit: AgentKit) -> None:
            self._kit = kit

        async def should_activate(self, context: ResearchContext) -> bool:
            return bool(context.chunks)

        async def process(self, context: ResearchContext, task: Task) -> ContextUpdate: …

        def explain_reasoning(self) -> str: …
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from multi_agent.bus import Publish
from multi_agent.context import WRITABLE, ContextUpdate, ResearchContext
from multi_agent.errors import AgentError
from multi_agent.library import Library
from multi_agent.llm.llm import LLM
from multi_agent.prompt import Prompt
from multi_agent.settings import ResearchSettings
from vectorstore.models import Value

READABLE = frozenset(ResearchContext.model_fields) - {"question", "understanding"}


DOCUMENTS = "documents"
"""Key of the validation context under which inputs find the names of the documents there are."""


class NoInputs(Value):
    """The inputs of an agent that takes none beside its instruction."""


class AgentCard(Value):
    """What an agent is, for the planner and for the engine."""

    name: str = Field(pattern=r"^[A-Z][A-Za-z0-9]{1,39}$")
    description: str = Field(description="what it does and when to use it: the planner reads this")
    capabilities: tuple[str, ...] = ()
    requires: frozenset[str] = Field(default=frozenset(), description="context fields that must be written before it")
    reads: frozenset[str] = Field(default=frozenset(), description="further fields that it reads if they are there")
    writes: frozenset[str] = Field(description="context fields that it may change")
    inputs: type[BaseModel] = Field(default=NoInputs, description="typed inputs that the planner gives it")
    listens_to: frozenset[str] = Field(default=frozenset(), description="event types it may react to")

    @property
    def sees(self) -> frozenset[str]:
        """All context fields that it is handed."""
        return self.requires | self.reads

    @model_validator(mode="after")
    def _fields_exist(self) -> AgentCard:
        if unknown := (self.sees - READABLE) | (self.writes - WRITABLE):
            raise ValueError(f"agent {self.name!r} declares fields that a context does not have: {sorted(unknown)}")
        return self


class Task(Value):
    """One agent's turn: what the plan asks of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    step: str
    instruction: str
    inputs: BaseModel = Field(default_factory=NoInputs)


@dataclass(frozen=True)
class AgentKit:
    """What an agent works with. A fresh agent and kit are made for every step, so agents may keep state in between."""

    llm: LLM
    library: Library
    prompt: Prompt | None
    settings: ResearchSettings
    publish: Publish

    def require_prompt(self) -> Prompt:
        """The agent's prompt. Raises AgentError if it has no prompt file."""
        if self.prompt is None:
            raise AgentError("This agent has no prompt file; put it in the prompts folder beside its package.")
        return self.prompt


class Agent(Protocol):
    """One member of the panel, for one turn."""

    card: ClassVar[AgentCard]

    async def should_activate(self, context: ResearchContext) -> bool:
        """Whether there is anything for it to do; a declined turn is recorded as skipped."""
        ...

    async def process(self, context: ResearchContext, task: Task) -> ContextUpdate:
        """Do the work; return only the fields it changes. Raises AgentError, StoreError."""
        ...

    def explain_reasoning(self) -> str:
        """What the last ``process`` did and why, for the other agents and for people."""
        ...


AgentClass = Callable[[AgentKit], Agent]

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

        async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate: …

        def explain_reasoning(self) -> str: …

What later steps of a plan may refer to (``@{outputs.STEP.FIELD}``) is declared on the card as ``outputs``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, model_validator

from multi_agent.bus import Publish
from multi_agent.context import WRITABLE, ContextUpdate, ResearchContext
from multi_agent.errors import AgentError
from multi_agent.library import Library
from multi_agent.llm.llm import LLM
from multi_agent.prompt import Prompt
from multi_agent.settings import ResearchSettings
from multi_agent.tasks import GetTaskData, NoInputs, TaskData
from multi_agent.toolbox.granted_tool import OfferedTools, no_tools
from vectorstore.models import FrozenModel

READABLE = frozenset(ResearchContext.model_fields) - {"question", "understanding"}


DOCUMENTS = "documents"
"""Key of the validation context under which inputs find the names of the documents there are."""


def _listed(names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    known = (info.context or {}).get(DOCUMENTS)
    unknown = [name for name in names if known is not None and name not in known]
    if unknown:
        raise ValueError(f"there is no document named {', '.join(map(repr, unknown))}")
    return names


DocumentNames = Annotated[tuple[str, ...], AfterValidator(_listed)]
"""Names of documents, for the inputs of an agent: of those there are, where that is known."""


class StepOutput(FrozenModel):
    """What later steps may refer to, by its fields: text, numbers, truth values, and lists of text.

    An agent that has any declares a subtype of this on its card.
    """

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        """Read from what the agent wrote."""
        return cls()

    @property
    def why_empty(self) -> str:
        """What the step did, for a plan that refers to a field without a value: it is planned anew by this."""
        return "found nothing."


class AgentCard(FrozenModel):
    """What an agent is, for the planner and for the engine."""

    name: str = Field(pattern=r"^[A-Z][A-Za-z0-9]{1,39}$")
    description: str = Field(description="what it does and when to use it: the planner reads this")
    capabilities: tuple[str, ...] = ()
    requires: frozenset[str] = Field(default=frozenset(), description="context fields that must be written before it")
    reads: frozenset[str] = Field(default=frozenset(), description="further fields that it reads if they are there")
    writes: frozenset[str] = Field(description="context fields that it may change")
    inputs: type[BaseModel] = Field(default=NoInputs, description="typed inputs that the planner gives it")
    asked: Callable[[str], BaseModel] | None = Field(
        default=None, description="its inputs when a person asks it directly; needed only if it has inputs"
    )
    outputs: type[StepOutput] = Field(default=StepOutput, description="what later steps may refer to")
    model: str = Field(default="", description="the model it asks, by the name of its endpoint; empty for the default")
    weight: float | None = Field(default=1.0, ge=0, description="of its vote; None leaves it to the number of votes")
    tools: tuple[str, ...] = Field(default=(), description="names of the tools that it may call; no others")
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


@dataclass(frozen=True)
class AgentKit:
    """What an agent works with. A fresh agent and kit are made for every step, so agents may keep state in between.

    ``keep`` puts a part of what the agent found into the shared context at once, so that it is not lost if the rest
    of its turn fails; what it returns in the end may hold it again. ``tools`` gives the tools that the card grants.
    """

    llm: LLM
    library: Library
    prompt: Prompt | None
    settings: ResearchSettings
    publish: Publish
    keep: Callable[[ContextUpdate], Awaitable[None]]
    get_task_data: GetTaskData
    tools: Callable[[], Awaitable[OfferedTools]] = no_tools

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

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        """Do the work; return only the fields it changes. Raises AgentError, StoreError."""
        ...

    def explain_reasoning(self) -> str:
        """What the last ``process`` did and why, for the other agents and for people."""
        ...


AgentClass = Callable[[AgentKit], Agent]

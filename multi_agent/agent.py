"""The agent protocol and the kit of an agent. Implementations are in ``agents/``, one per file.

To add an agent, add a file with a class like this to an agents package, and its prompt to the ``prompts`` folder next
to that package:

    class Translator(StepAgent):
        card = AgentCard(name="Translator", description="…", capabilities=("translation",),
                         requires={"chunks"}, writes={"notes"})

        async def should_activate(self, context: ResearchContext) -> bool:
            return bool(context.chunks)

        async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate: …

The card declares in ``outputs`` the fields that later steps can reference as ``@{outputs.STEP.FIELD}``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, model_validator

from base.models import FrozenModel
from multi_agent.errors import AgentError
from multi_agent.library import Library
from multi_agent.model import LLM
from multi_agent.prompt import Prompt
from multi_agent.prompts.reranking import model_scores
from multi_agent.settings.research import ResearchSettings, Source
from multi_agent.toolbox.granted_tool import OfferedTools, no_tools
from multi_agent.values.bus import Publish
from multi_agent.values.context import SEEN_BY_ALL, WRITABLE, ContextUpdate, ResearchContext
from multi_agent.values.events import PromptShortened
from multi_agent.values.tasks import GetTaskData, Listened, NoInputs, TaskData, Wake
from vectorstore.models import Hit
from vectorstore.reranking import reordered

READABLE = frozenset(ResearchContext.model_fields) - SEEN_BY_ALL
DOCUMENTS = "documents"
"""Key of the validation context that contains the names of all documents."""


def _require_known(names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    known = (info.context or {}).get(DOCUMENTS)
    unknown = [name for name in names if known is not None and name not in known]
    if unknown:
        raise ValueError(f"there is no document named {', '.join(map(repr, unknown))}")
    return names


DocumentNames = Annotated[tuple[str, ...], AfterValidator(_require_known)]
"""Document names in an agent's inputs. Validated if the validation context contains the names of the library."""


def document_fields(inputs: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of the input fields that contain ``DocumentNames``."""
    return tuple(
        name
        for name, field in inputs.model_fields.items()
        if any(getattr(each, "func", None) is _require_known for each in field.metadata)
    )


class StepOutput(FrozenModel):
    """The output of a step. Later steps can refer to its fields, which are texts, numbers, booleans and lists of texts.

    An agent with outputs declares a subclass on its card.
    """

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        """Build the output from the agent's update."""
        return cls()

    @property
    def why_empty(self) -> str:
        """The reason why a field is empty. The error of a step that refers to the field shows it to the planner."""
        return "found nothing."


def texts_in(outputs: type[StepOutput]) -> tuple[str, ...]:
    """Return the names of the outputs that can be part of a question. Excludes numbers and booleans."""
    return tuple(name for name, field in outputs.model_fields.items() if field.annotation not in (int, float, bool))


class AgentCard(FrozenModel):
    """The description of an agent for the planner and the engine."""

    name: str = Field(pattern=r"^[A-Z][A-Za-z0-9]{1,39}$")
    description: str = Field(description="what it does and when to use it: the planner reads this")
    capabilities: tuple[str, ...] = ()
    requires: frozenset[str] = Field(default=frozenset(), description="context fields that must be written before it")
    reads: frozenset[str] = Field(default=frozenset(), description="further fields that it reads if they are there")
    writes: frozenset[str] = Field(description="context fields that it may change")
    instructed: bool = Field(
        default=True, description="whether it reads the instruction of its step; if not, the planner writes none"
    )
    inputs: type[BaseModel] = Field(default=NoInputs, description="typed inputs that the planner gives it")
    planned_inputs: bool = Field(
        default=True, description="whether the planner is offered the inputs; if not, only a saved plan sets them"
    )
    asked: Callable[[str], BaseModel] | None = Field(
        default=None, description="returns its inputs when a person asks it directly; needed only if it has inputs"
    )
    outputs: type[StepOutput] = Field(default=StepOutput, description="what later steps may refer to")
    lookup: str = Field(
        default="",
        description="the inputs and when triage chooses them, for an agent without a model whose results answer a "
        "question about the collection itself; empty for other agents",
    )
    closing: str = Field(
        default="", description="the instruction to write the answer from what it found, if a person asks it directly"
    )
    planned: bool = Field(default=True, description="whether plans may use it; if not, only a person can ask it")
    talks: bool = Field(default=False, description="whether what it says is no claim, so that nothing is checked")
    model: str = Field(default="", description="named model endpoint; empty for the default")
    weight: float | None = Field(default=1.0, ge=0, description="of its vote; None counts votes without weights")
    tools: tuple[str, ...] = Field(default=(), description="names of the tools that it may call")
    searches: frozenset[Source] = Field(default=frozenset(), description="sources that it searches without a tool")
    skills: tuple[str, ...] = Field(default=(), description="names of its skills")
    reads_memory: bool = Field(
        default=False, description="whether its prompt shows notes, tool use and plans that worked on similar questions"
    )
    listens_to: frozenset[Listened] = Field(
        default=frozenset(),
        description="events that it hears, of all agents or of one ('reasoning_shared:Retriever'): they appear in its "
        "prompt, and wake it if its `should_activate` agrees",
    )
    enabled: bool = Field(default=True, description="whether plans may use it without a person enabling it first")

    @property
    def abilities(self) -> str:
        """The agent's tools and skills as sentences for a prompt; empty if it has none."""
        named = (("Tools", self.tools), ("Skills", self.skills))
        return "".join(f" {title}: {', '.join(names)}." for title, names in named if names)

    @property
    def sees(self) -> frozenset[str]:
        """All context fields that the agent receives."""
        return self.requires | self.reads

    @model_validator(mode="after")
    def _fields_exist(self) -> AgentCard:
        if unknown := (self.sees - READABLE) | (self.writes - WRITABLE):
            raise ValueError(f"agent {self.name!r} declares fields that a context does not have: {sorted(unknown)}")
        return self


@dataclass(frozen=True)
class AgentKit:
    """The dependencies of an agent. Every step gets a new agent and kit, so an agent may store state during its step.

    ``keep`` stores a partial result. It is merged into the shared context when the step ends, even if it fails. The
    final update may contain it again. ``read_before`` contains the ids of the passages that earlier attempts read.
    ``tools`` returns the tools that the card grants, and ``sources`` lists the kinds of sources that the answer may
    use. ``wake`` contains the events that woke the agent. It is None in a step of the plan.
    """

    llm: LLM
    library: Library
    prompt: Prompt | None
    settings: ResearchSettings
    publish: Publish
    keep: Callable[[ContextUpdate], Awaitable[None]]
    get_task_data: GetTaskData
    read_before: frozenset[str] = frozenset()
    tools: Callable[[], Awaitable[OfferedTools]] = no_tools
    sources: tuple[Source, ...] = ("documents",)
    wake: Wake | None = None

    async def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Hit]:
        """Search the library in a thread. With the reranker `llm`, the model of the agent orders the best passages."""
        rerank = self.settings.rerank
        depth = max(limit, rerank.candidates) if rerank.provider == "llm" else limit
        hits = await asyncio.to_thread(self.library.search, queries, depth, documents)
        if rerank.provider != "llm" or not hits:
            return hits
        texts = [hit.chunk.embedded_text for hit in hits[: rerank.candidates]]
        scores = await model_scores(self.llm, queries, texts, self.settings.tokens_per_call)
        if unread := len(texts) - len(scores):
            left_out = f"{unread} of {len(texts)} passages to order"
            await self.publish(PromptShortened(caller="Reranker", left_out=(left_out,)))
        return reordered(hits, scores)[:limit]

    @property
    def checks_claims(self) -> bool:
        """Whether a call of the model decides on the claims that the rules leave open."""
        chosen = self.settings.check_claims
        return self.llm.checks_claims() if chosen == "auto" else chosen

    def require_prompt(self) -> Prompt:
        """Return the agent's prompt. Raises AgentError if it has no prompt file."""
        if self.prompt is None:
            raise AgentError("This agent has no prompt file. Put it into the prompts folder next to its package.")
        return self.prompt


class Agent(Protocol):
    """An agent for one step."""

    card: ClassVar[AgentCard]

    async def should_activate(self, context: ResearchContext) -> bool:
        """Return whether the agent has work to do. If not, the step is recorded as skipped.

        For a woken agent (``kit.wake``), return whether it reacts. If not, nothing is recorded.
        """
        ...

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        """Do the work and return the changed fields. Raises AgentError, StoreError."""
        ...

    def explain_reasoning(self) -> str:
        """Explain what ``process`` did and why, for other agents and for people."""
        ...


class StepAgent:
    """Implements ``Agent`` except ``process``, which notes its reasoning. Has work to do unless a subclass says no."""

    def __init__(self, kit: AgentKit) -> None:
        self._kit = kit
        self._reasoning = ""

    async def should_activate(self, context: ResearchContext) -> bool:
        """Return whether the agent has work to do."""
        return True

    def explain_reasoning(self) -> str:
        """Return what ``process`` has noted."""
        return self._reasoning


AgentClass = Callable[[AgentKit], Agent]

"""Understands a question, plans its research, and revises plans that did not lead to an answer.

Each takes one model call, and more only to correct an invalid plan.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeVar, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

from multi_agent.agent import AgentCard
from multi_agent.bus import Publish
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.context import ResearchContext, Understanding
from multi_agent.errors import PlanError
from multi_agent.events import PlanMade, PlanRejected
from multi_agent.library import CatalogueEntry, Library
from multi_agent.llm.llm import LLM, Message
from multi_agent.orchestrator.planning.document_list import list_documents
from multi_agent.orchestrator.planning.validation import faults
from multi_agent.orchestrator.working_context import WorkingContext
from multi_agent.plan import STEP_ID, Mode, Plan, PlanExample, Step
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.prompts.show_remembered import show_remembered
from multi_agent.remembered import Remembered
from multi_agent.settings import ResearchSettings
from multi_agent.tasks import NoInputs

ResponseT = TypeVar("ResponseT", bound=BaseModel)


class UnderstandingResponse(BaseModel):
    """What the supervisor says of a question, whoever plans it."""

    model_config = ConfigDict(extra="forbid")

    intent: str = Field(description="what the person wants to know or decide, in one sentence")
    domain: str = Field(description="the field the question belongs to, in a few words")
    requirements: list[str] = Field(min_length=1, description="what a complete answer must contain, one item each")

    @property
    def understanding(self) -> Understanding:
        return Understanding(intent=self.intent, domain=self.domain, requirements=tuple(self.requirements))


class Planner:
    """Asks the model for plans over one library. Returns invalid plans to the model with all their faults."""

    def __init__(
        self,
        llm: LLM,
        registry: AgentRegistry,
        settings: ResearchSettings,
        library: Library,
        catalogue: Sequence[CatalogueEntry],
        publish: Publish,
        remembered: Remembered,
    ) -> None:
        self._remembered = show_remembered(remembered)
        self._llm, self._registry, self._settings, self._publish = llm, registry, settings, publish
        self._library, self._catalogue, self._listing = library, catalogue, ""
        self._documents = {entry.name for entry in catalogue}
        self._agents = "\n".join(_describe(agent.card) for agent in registry)
        self._cards = tuple(agent.card for agent in registry)

    async def plan(
        self, question: str, mode: Literal["auto", "fast", "high"], examples: Sequence[PlanExample]
    ) -> tuple[Understanding, Plan]:
        """Return a valid plan. Raises PlanError if the model makes none, LLMError if the model fails."""
        prompt = Prompt.shipped("planner")
        messages = prompt.render(
            question=question,
            agents=self._agents,
            rules=Prompt.part("planning_rules"),
            library=await self._documents_for(question),
            examples=_show_examples(examples),
            remembered=self._remembered,
            mode="" if mode == "auto" else Prompt.part("chosen_mode", mode=mode),
        )
        modes: tuple[Mode, ...] = ("fast", "high") if mode == "auto" else (mode,)
        response, plan = await self._valid(prompt, messages, planner_response(self._cards, modes), ())
        reason = response.mode_reason if mode == "auto" else "The person chose it."
        await self._publish(PlanMade(understanding=response.understanding, plan=plan, mode_reason=reason))
        return response.understanding, plan

    async def follow(self, question: str, plan: Plan) -> Understanding:
        """Understand the question for a plan that the person chose. Raises PlanError if the plan is invalid here."""
        if found := faults(plan, self._registry, self._documents):
            raise PlanError(f"The saved plan cannot be run here: {' '.join(found)}")
        messages = Prompt.shipped("understanding").render(
            question=question,
            library=await self._documents_for(question),
            plan=plan.model_dump_json(indent=1, exclude_defaults=True),
            remembered=self._remembered,
        )
        understanding = (await self._llm.complete(messages, UnderstandingResponse)).value.understanding
        await self._publish(
            PlanMade(understanding=understanding, plan=plan, mode_reason="The plan was chosen by name.")
        )
        return understanding

    async def revise(self, context: ResearchContext, working: WorkingContext) -> tuple[str, Plan | None]:
        """Return the model's diagnosis and another plan; None if the model gives up. Raises as ``plan``."""
        prompt = Prompt.shipped("reviser")
        known = {name for name in ResearchContext.model_fields if getattr(context, name)}
        messages = prompt.render(
            question=context.question,
            intent=context.understanding.intent,
            requirements=bullets(context.understanding.requirements),
            agents=self._agents,
            rules=Prompt.part("planning_rules"),
            library=await self._documents_for(context.question),
            attempts=working.render(),
            known=", ".join(sorted(known - {"question", "understanding", "messages"})) or "nothing",
        )
        response, plan = await self._valid(prompt, messages, revision_response(self._cards), known)
        return response.diagnosis, plan

    async def _documents_for(self, question: str) -> str:
        """Return the list of documents, computed once per run."""
        limit = self._settings.catalogue_limit
        self._listing = self._listing or await asyncio.to_thread(
            list_documents, self._library, self._catalogue, question, limit
        )
        return self._listing

    async def _valid(
        self, prompt: Prompt, messages: list[Message], response_model: type[BaseModel], known: Collection[str]
    ) -> tuple[Any, Any]:
        """Return the response and its valid plan; None as the plan if the response says not to try again."""
        for _ in range(self._settings.plan_retries + 1):
            response: Any = (await self._llm.complete(messages, response_model)).value
            if not getattr(response, "try_again", True):
                return response, None
            plan = _plan_of(response)
            found = faults(plan, self._registry, self._documents, known) if plan else ("It has no steps.",)
            if not found:
                return response, plan
            if plan:
                await self._publish(PlanRejected(plan=plan, faults=found))
            messages = [*messages, *prompt.again(response.model_dump_json(), faults=bullets(found))]
        raise PlanError(
            f"The model made no plan that can be run, in {self._settings.plan_retries + 1} attempts. "
            f"Faults of the last one: {' '.join(found)} Try a more capable model."
        )


@lru_cache(maxsize=32)
def planner_response(cards: tuple[AgentCard, ...], modes: tuple[Mode, ...]) -> type[BaseModel]:
    """Return the response model of the planner: agent names as enums, inputs typed by the agents' cards.

    With a single mode it has no field for the reason of the mode.
    """
    step: Any = _step_type(cards)
    mode: Any = Literal[modes]
    reason = (str, Field(description="why this question takes that mode, in one sentence"))
    fields: dict[str, Any] = {
        **({"mode_reason": reason} if len(modes) > 1 else {}),
        "mode": (mode, Field(description="how much work the question takes")),
        "goal": (str, Field(description="what this plan is to achieve, in one sentence")),
        "steps": (list[step], Field(min_length=1, description="the steps, each with an agent")),
    }
    return create_model("PlannerResponse", __base__=UnderstandingResponse, **fields)


@lru_cache(maxsize=32)
def revision_response(cards: tuple[AgentCard, ...]) -> type[BaseModel]:
    """Return the response model for revising a plan."""
    step: Any = _step_type(cards, may_be_final=False)
    fields: dict[str, Any] = {
        "diagnosis": (str, Field(description="why the answer was not found, or the step failed, in one sentence")),
        "try_again": (bool, Field(description="whether another way is worth trying")),
        "goal": (str, Field(description="what the new plan does differently, in one sentence; empty without one")),
        "steps": (list[step], Field(description="the steps, each with an agent; [] if not worth trying")),
    }
    return create_model("RevisionResponse", __config__=ConfigDict(extra="forbid"), **fields)


def _step_type(cards: tuple[AgentCard, ...], *, may_be_final: bool = True) -> Any:
    """Return the type of a step: one model for all agents without fields of their own, one for each other agent."""
    own = {card.name: _own(card, cards, may_be_final=may_be_final) for card in cards}
    plain = tuple(name for name, fields in own.items() if not fields)
    variants = [_step_model("PlainStep", plain, {})] if plain else []
    variants += [_step_model(f"{name}Step", (name,), fields) for name, fields in own.items() if fields]
    return Union[tuple(variants)]  # noqa: UP007 - the variants are made at run time


def _own(card: AgentCard, cards: Sequence[AgentCard], *, may_be_final: bool) -> dict[str, Any]:
    """Return the fields that only steps of this agent have."""
    own: dict[str, Any] = {}
    if card.inputs is not NoInputs:
        own["inputs"] = (card.inputs, Field(description="settings of this agent for this step"))
    if may_be_final and _may_be_final(card):
        own["final"] = (bool, Field(description="whether its answer is the answer to the question: in mode fast"))
    peers = tuple(other.name for other in cards if other is not card and _alike(other, card))
    if peers:
        description = "further agents that take the same step, to compare their results by vote; [] if not needed"
        other: Any = Literal[peers]
        own["also"] = (list[other], Field(description=description))
    return own


def _may_be_final(card: AgentCard) -> bool:
    return "findings" in card.writes and not card.requires


def _alike(one: AgentCard, other: AgentCard) -> bool:
    """Return whether two agents can take the same step and give comparable answers."""
    answers = {"synthesis", "findings"} & one.writes
    return bool(answers) and (one.inputs, one.writes, one.outputs) == (other.inputs, other.writes, other.outputs)


def _step_model(name: str, agents: tuple[str, ...], own: dict[str, Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        "id": (str, Field(pattern=STEP_ID, description="short unique name of the step, such as 'search'")),
        "agent": (Literal[agents], Field(description="the agent that takes this step")),
        "instruction": (str, Field(description="what this agent is to do for this question, in one or two sentences")),
        "needs": (list[str], Field(description="ids of the steps that must be finished before this one; [] if none")),
        "why": (str, Field(description="why this step is needed, in one sentence")),
        **own,
    }
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


def _plan_of(response: BaseModel) -> Plan | None:
    raw = response.model_dump(mode="json")
    steps = [
        Step(agents=(step.pop("agent"), *step.pop("also", ())), **step)
        for step in raw["steps"]
    ]  # fmt: skip
    return Plan(goal=raw["goal"], mode=raw.get("mode", "high"), steps=tuple(steps)) if steps else None


def _describe(card: AgentCard) -> str:
    reads = ", ".join([*sorted(card.requires), *(f"{name} (if there)" for name in sorted(card.reads))]) or "nothing"
    fields = (f"{name} ({field.description})" for name, field in card.outputs.model_fields.items())
    gives = f" Gives: {'; '.join(fields)}." if card.outputs.model_fields else ""
    final = " May be final." if _may_be_final(card) else ""
    return (
        f"- {card.name}: {card.description} Capabilities: {', '.join(card.capabilities) or 'general'}. "
        f"Reads: {reads}. Writes: {', '.join(sorted(card.writes))}.{gives}{final}"
    )


def _show_examples(examples: Sequence[PlanExample]) -> str:
    if not examples:
        return ""
    shown = "\n".join(_show_example(example) for example in examples)
    return f"\nPlans that worked on other questions, as examples; follow one only where it fits:\n{shown}\n"


def _show_example(example: PlanExample) -> str:
    name = f"{example.name}: " if example.name else ""
    steps = "; ".join(f"{step.id} = {', '.join(step.agents)}" for step in example.plan.steps)
    return f"- {name}{example.question}\n  mode {example.plan.mode}: {steps}"

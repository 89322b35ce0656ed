"""Understanding a question and planning its research: one model call, and more only to mend a plan with faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

from multi_agent.agent import AgentCard, NoInputs
from multi_agent.bus import Publish
from multi_agent.context import Understanding
from multi_agent.errors import PlanError
from multi_agent.events import PlanMade, PlanRejected
from multi_agent.library import CatalogueEntry
from multi_agent.llm.llm import LLM
from multi_agent.orchestrator.validation import faults
from multi_agent.plan import Plan, Step
from multi_agent.prompt import Prompt
from multi_agent.reading import bullets
from multi_agent.registry import BUILT_IN, AgentRegistry
from multi_agent.settings import ResearchSettings

STEP_ID = r"^[a-z][a-z0-9_]{0,39}$"


class Planner:
    """Asks the model for an understanding and a plan, and gives a plan with faults back with all of them."""

    def __init__(self, llm: LLM, registry: AgentRegistry, settings: ResearchSettings) -> None:
        prompt = Prompt.find(BUILT_IN, "planner")
        if prompt is None:
            raise PlanError("The planner's prompt, multi_agent/prompts/planner.md, is missing; reinstall candor.")
        self._llm, self._registry, self._settings, self._prompt = llm, registry, settings, prompt
        self._response_model = response_model([agent.card for agent in registry])

    async def plan(
        self, question: str, catalogue: Sequence[CatalogueEntry], publish: Publish
    ) -> tuple[Understanding, Plan]:
        """A valid plan. Raises PlanError when the model does not come to one, LLMError when it cannot be asked."""
        messages = self._prompt.render(
            question=question, agents=describe_agents(self._registry), library=self._describe_library(catalogue)
        )
        names = {entry.name for entry in catalogue}
        for _ in range(self._settings.plan_reasks + 1):
            response = (await self._llm.complete(messages, self._response_model)).value
            understanding, plan = _read(response)
            found = faults(plan, self._registry, names)
            if not found:
                await publish(PlanMade(understanding=understanding, plan=plan))
                return understanding, plan
            await publish(PlanRejected(plan=plan, faults=found))
            messages += self._prompt.again(response.model_dump_json(), faults=bullets(found))
        raise PlanError(
            f"The model made no plan that can be run, in {self._settings.plan_reasks + 1} attempts. "
            f"Faults of the last one: {' '.join(found)} Try a more capable model."
        )

    def _describe_library(self, catalogue: Sequence[CatalogueEntry]) -> str:
        shown = catalogue[: self._settings.catalogue_limit]
        lines = [_describe_document(entry) for entry in shown]
        if rest := len(catalogue) - len(shown):
            lines.append(f"- and {rest} more documents that are not listed here")
        passages = sum(entry.chunks for entry in catalogue)
        return f"{len(catalogue)} documents, {passages} passages:\n" + "\n".join(lines)


def describe_agents(registry: AgentRegistry) -> str:
    """The agents as the planner sees them: name, what for, capabilities, what each reads and writes."""
    return "\n".join(_describe(agent.card) for agent in registry)


def response_model(cards: Sequence[AgentCard]) -> type[BaseModel]:
    """The planner's response, with agent names as enums and each agent's inputs typed by its card."""
    plain = tuple(card.name for card in cards if card.inputs is NoInputs)
    variants = [_step_model("PlainStep", plain, None)] if plain else []
    variants += [_step_model(f"{card.name}Step", (card.name,), card.inputs) for card in cards if card.name not in plain]
    step: Any = Union[tuple(variants)]  # noqa: UP007 - the variants are made at run time
    return create_model(
        "PlannerResponse",
        __config__=ConfigDict(extra="forbid"),
        intent=(str, Field(description="what the person wants to know or decide, in one sentence")),
        domain=(str, Field(description="the field the question belongs to, in a few words")),
        requirements=(list[str], Field(min_length=1, description="what a complete answer must contain, one item each")),
        goal=(str, Field(description="what this plan is to achieve, in one sentence")),
        steps=(list[step], Field(min_length=1, description="the steps, each with an agent")),
    )


def _step_model(name: str, agents: tuple[str, ...], inputs: type[BaseModel] | None) -> type[BaseModel]:
    fields: dict[str, Any] = {
        "id": (str, Field(pattern=STEP_ID, description="short unique name of the step, such as 'search'")),
        "agent": (Literal[agents], Field(description="the agent that takes this step")),
        "instruction": (str, Field(description="what this agent is to do for this question, in one or two sentences")),
        "needs": (list[str], Field(description="ids of the steps that must be finished before this one; [] if none")),
        "why": (str, Field(description="why this step is needed, in one sentence")),
    }
    if inputs is not None:
        fields["inputs"] = (inputs, Field(description="settings of this agent for this step"))
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


def _read(response: BaseModel) -> tuple[Understanding, Plan]:
    raw = response.model_dump(mode="json")
    understanding = Understanding(intent=raw["intent"], domain=raw["domain"], requirements=tuple(raw["requirements"]))
    return understanding, Plan(goal=raw["goal"], steps=tuple(Step(**step) for step in raw["steps"]))


def _describe_document(entry: CatalogueEntry) -> str:
    title = f" ({entry.title})" if entry.title else ""
    return f"- {entry.name}{title}: {entry.chunks} passages"


def _describe(card: AgentCard) -> str:
    reads = ", ".join([*sorted(card.requires), *(f"{name} (if there)" for name in sorted(card.reads))]) or "nothing"
    return (
        f"- {card.name}: {card.description} Capabilities: {', '.join(card.capabilities) or 'general'}. "
        f"Reads: {reads}. Writes: {', '.join(sorted(card.writes))}."
    )

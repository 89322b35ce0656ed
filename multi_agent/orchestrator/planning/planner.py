"""Understands a question, plans its research in several steps, and revises plans that did not lead to an answer.

Each operation takes one model call, and one more for each correction of an invalid plan.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel

from base.counts import count
from multi_agent.agent import AgentCard, texts_in
from multi_agent.catalog.tool_steps import ToolStepCard
from multi_agent.errors import PlanError
from multi_agent.llm.responses.typed import with_schema
from multi_agent.llm.wrappers.requests import estimate_prompt
from multi_agent.model import Message
from multi_agent.orchestrator.planning.document_list import PlanningCalls
from multi_agent.orchestrator.planning.drafting import (
    WrittenStep,
    draft_plan,
    peers_of,
    planner_response,
    revision_response,
    understanding_response,
    with_documents,
)
from multi_agent.orchestrator.planning.one_step import fast_agents
from multi_agent.orchestrator.planning.templates import fill, missing_parameters, template_faults, values_for
from multi_agent.orchestrator.planning.validation import faults
from multi_agent.orchestrator.working_context import WorkingContext
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.prompts.show_remembered import show_remembered
from multi_agent.values.context import SEEN_BY_ALL, ResearchContext, Understanding
from multi_agent.values.events import PlanMade, PlanRejected, PromptShortened, ResponseRepaired
from multi_agent.values.plan import Plan, PlanExample, Step

_PLANNED = "`intent`, `requirements` and the steps"
_REVISED = "the steps"
_FEW_DOCUMENTS = 5  # in the list of a shortened prompt


class _View(NamedTuple):
    """The contents of a prompt, and what is left out."""

    cards: tuple[AgentCard, ...]
    examples: Sequence[PlanExample] = ()
    documents: int | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planner(PlanningCalls):
    """Asks the model for plans over one library. Sends invalid plans back to the model with all their faults."""

    retries: int
    tokens: int
    """Maximum tokens of a prompt with its response schema. Prompts are shortened to fit, if possible."""

    @property
    def _cards(self) -> tuple[AgentCard, ...]:
        return tuple(agent.card for agent in self.registry if agent.card.planned)

    async def plan(self, question: str, examples: Sequence[PlanExample]) -> tuple[Understanding, Plan]:
        """Return a valid plan. Raises PlanError if the model makes no valid plan, LLMError if the model fails."""
        prompt = Prompt.shipped("planner")

        async def render(view: _View) -> list[Message]:
            return prompt.render(
                **await self._shared_values(view),
                examples=_show_examples(view.examples),
                remembered=show_remembered(self.remembered, _PLANNED),
                question=question,
            )

        messages, shape = await self._fitted(render, planner_response, examples)
        response, plan = await self._valid(prompt, messages, shape, "", (), atomic=self._atomic(question))
        plan = self.change(plan)
        await self.publish(PlanMade(understanding=response.understanding, plan=plan))
        return response.understanding, plan

    async def follow(self, question: str, template: Plan, inputs: Mapping[str, str]) -> tuple[Understanding, Plan]:
        """Understand the question and fill in a template that the person chose.

        ``inputs`` contains values of its parameters. The model extracts the others from the question. Raises PlanError
        if the plan is invalid for this run or a value is missing.
        """
        self._require_runnable(template_faults(template, self.registry, self.documents.names))
        missing = missing_parameters(template, inputs)
        messages = Prompt.shipped("understanding").render(
            question=question,
            library=await self.documents.text(),
            inputs=f"\n\n{Prompt.part('template_inputs')}" if missing else "",
            plan=template.model_copy(update={"parameters": missing}).model_dump_json(indent=1, exclude_defaults=True),
            remembered=show_remembered(self.remembered, _PLANNED),
            today=self.today,
        )
        response: Any = (await self.llm.complete(messages, understanding_response(missing))).value
        found = response.inputs.model_dump() if missing else {}
        plan = fill(template, question, values_for(template, inputs, found))
        plan, repairs = with_documents(plan, self.registry, self.documents.find)
        self._require_runnable(faults(plan, self.registry, self.documents.names))
        if repairs:
            await self.publish(ResponseRepaired(caller="Planner", repairs=repairs))
        plan = self.change(plan)
        await self.publish(PlanMade(understanding=response.understanding, plan=plan))
        return response.understanding, plan

    async def revise(self, context: ResearchContext, working: WorkingContext) -> tuple[str, Plan | None]:
        """Return the model's diagnosis and another plan, or None if the model gives up. Raises like ``plan``."""
        prompt = Prompt.shipped("reviser")
        known = {name for name in ResearchContext.model_fields if getattr(context, name)}
        intent = context.understanding.intent

        async def render(view: _View) -> list[Message]:
            return prompt.render(
                **await self._shared_values(view),
                remembered=show_remembered(self.remembered, _REVISED),
                question=context.question,
                intent=f"\nIntent: {intent}" if intent != context.question else "",
                requirements=bullets(context.understanding.requirements),
                attempts=working.text,
                known=", ".join(sorted(known - SEEN_BY_ALL - {"messages"})) or "nothing",
            )

        messages, shape = await self._fitted(render, revision_response)
        response, plan = await self._valid(prompt, messages, shape, intent, known, working.finished)
        return response.diagnosis, self.change(plan) if plan else None

    def _atomic(self, question: str) -> list[WrittenStep]:
        """Return the step of an agent that answers the question alone, preferably from documents. Empty without one."""
        able = sorted(fast_agents(self.registry), key=lambda card: "documents" not in card.searches)
        asked = able[0].asked if able else None
        inputs = asked(question).model_dump(mode="json") if asked else {}
        return [WrittenStep(id="answer", agent=card.name, inputs=inputs) for card in able[:1]]

    async def _fitted(
        self,
        render: Callable[[_View], Awaitable[list[Message]]],
        shape_of: Callable[[tuple[AgentCard, ...]], type[BaseModel]],
        examples: Sequence[PlanExample] = (),
    ) -> tuple[list[Message], type[BaseModel]]:
        """Return the prompt and its response model, shortened to fit into ``tokens``."""
        for view in self._views(examples):
            messages, shape = await render(view), shape_of(view.cards)
            if estimate_prompt(with_schema(messages, shape)) <= self.tokens:
                break
        if view.left_out:
            await self.publish(PromptShortened(caller="Planner", left_out=view.left_out))
        return messages, shape

    def _views(self, examples: Sequence[PlanExample]) -> Iterator[_View]:
        """Yield the full view, then shorter ones. Agents whose work others can do are left out last."""
        yield _View(self._cards, examples)
        left_out = ["examples of plans"] if examples else []
        left_out += [f"all but {_FEW_DOCUMENTS} documents"] if len(self.documents.names) > _FEW_DOCUMENTS else []
        view = _View(self._cards, documents=_FEW_DOCUMENTS, left_out=tuple(left_out))
        yield view
        lookups = tuple(
            card for card in self._cards if card.lookup
        )  # triage has decided that the question is no lookup
        for some in (lookups, *((card,) for card in self._cards if self._is_spare(card))):
            cards = tuple(card for card in view.cards if card not in some)
            view = view._replace(cards=cards, left_out=(*view.left_out, *(f"agent {card.name}" for card in some)))
            yield view

    def _is_spare(self, card: AgentCard) -> bool:
        """Return whether other agents can write the same results, in steps with more calls."""
        others = (other.writes for other in self._cards if other is not card and not other.lookup)
        return not card.lookup and card.writes <= frozenset().union(*others) and card not in fast_agents(self.registry)

    async def _shared_values(self, view: _View) -> dict[str, str]:
        """Return the values that the prompts of ``plan`` and ``revise`` have in common."""
        cards, hidden = view.cards, {card.name for card in self._cards} - {card.name for card in view.cards}
        rules = [each for each in _rules(cards) if not hidden.intersection(re.findall(r"\w+", each))]
        return {
            "agents": "\n".join(_describe(card, cards) for card in cards),
            "rules": "\n".join(rules),
            "library": await self.documents.text(view.documents),
            "sources": self.sources,
            "today": self.today,
        }

    async def _valid(
        self,
        prompt: Prompt,
        messages: list[Message],
        response_model: type[BaseModel],
        goal: str,
        known: Collection[str],
        finished: Sequence[Step] = (),
        atomic: Sequence[WrittenStep] = (),
    ) -> tuple[Any, Any]:
        """Return the response and its valid plan. The plan is None if the model gives up.

        A response without steps means that the question is ``atomic``: these steps answer it.
        """
        for _ in range(self.retries + 1):
            response: Any = (await self.llm.complete(messages, response_model)).value
            if not getattr(response, "try_again", True):
                return response, None
            plan, found = await self._draft(
                goal or getattr(response, "intent", ""), response.steps or atomic, known, finished
            )
            if not found:
                return response, plan
            if plan:
                await self.publish(PlanRejected(plan=plan, faults=found))
            messages = [*messages, *prompt.again(response.model_dump_json(), faults=bullets(found))]
        raise PlanError(
            f"The model made no valid plan in {count(self.retries + 1, 'attempt')}. Faults of the last one: "
            f"{' '.join(found)} Try mode `fast`, which needs no plan, or a more capable model.",
            written=response.model_dump_json(indent=1, include={"steps"}),
            faults=found,
        )

    @staticmethod
    def _require_runnable(found: tuple[str, ...]) -> None:
        if found:
            raise PlanError(f"The saved plan cannot be run here: {' '.join(found)}")

    async def _draft(
        self, goal: str, steps: Sequence[Any], known: Collection[str], finished: Sequence[Step]
    ) -> tuple[Plan | None, tuple[str, ...]]:
        """Return the plan of these steps and its faults. The plan is None without steps."""
        if not steps:
            return None, ("It has no steps.",)
        plan, repairs = draft_plan(goal, steps, self.registry, self.documents.find, finished)
        found = faults(plan, self.registry, self.documents.names, known, finished)
        if repairs and not found:
            await self.publish(ResponseRepaired(caller="Planner", repairs=repairs))
        return plan, found


def _rules(cards: Sequence[AgentCard]) -> list[str]:
    """Return the rules as a list of items. Nested items are items of their own."""
    rules = [Prompt.part("planning_rules")]
    rules += [Prompt.part("planning_vote")] if any(peers_of(card, cards) for card in cards) else []
    rules += [Prompt.part("planning_tools")] if any(isinstance(card, ToolStepCard) for card in cards) else []
    return re.split(r"\n(?= *- )", "\n".join(rules))


def _describe(card: AgentCard, cards: Sequence[AgentCard]) -> str:
    capabilities = f" ({', '.join(card.capabilities)})" if card.capabilities else ""
    before = [" or ".join(other.name for other in cards if field in other.writes) for field in sorted(card.requires)]
    needs = f" After {' and '.join(dict.fromkeys(filter(None, before)))}." if any(before) else ""
    outputs = card.outputs.model_fields
    fields = [f"{name} ({outputs[name].description})" for name in texts_in(card.outputs)]
    gives = f" Gives {'; '.join(fields)}." if fields else ""
    return f"- {card.name}{capabilities}: {card.description}{needs}{gives}{card.abilities}"


def _show_examples(examples: Sequence[PlanExample]) -> str:
    """Render the plans with several steps. A plan of mode ``fast`` is not useful as an example."""
    shown = "\n".join(_show_example(example) for example in examples if example.plan.mode == "high")
    if not shown:
        return ""
    return f"\nPlans that worked on other questions, as examples; follow one only where it fits:\n{shown}\n"


def _show_example(example: PlanExample) -> str:
    name = f"{example.name}: " if example.name else ""
    steps = "; ".join(f"{step.id} = {', '.join(step.agents)}" for step in example.plan.steps)
    return f"- {name}{example.question}\n  {steps}"
